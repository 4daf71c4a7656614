"""The versions and the machine that a result was made with."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import PackageNotFoundError, version

import torch

from wbgpu.version import __version__

_PACKAGES = (
    "torch",
    "torchvision",
    "torchmetrics",
    "lightning",
    "hydra-core",
    "numpy",
    "numba",
    "triton",
    "decord2",
    "av",
    "pillow",
)


def environment() -> dict[str, str]:
    """Version of everything that can move a number, by name."""
    return dict(_environment())


@functools.cache
def _environment() -> dict[str, str]:
    # What is loaded stays, whatever is installed meanwhile; looking it up takes 3 ms.
    versions = {
        "wbgpu": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    if torch.version.cuda is not None:
        versions["cuda"] = torch.version.cuda
    return versions


def device_name(device: torch.device) -> str:
    """``cpu``, or the CUDA device with its model, such as ``cuda:0 (NVIDIA H200)``."""
    if device.type != "cuda":
        return device.type
    return f"{device} ({torch.cuda.get_device_name(device)})"
