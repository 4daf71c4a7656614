"""The versions and the machine that a result was made with."""

from __future__ import annotations

import platform
import shlex
import sys
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
    "decord2",
    "av",
)


def environment() -> dict[str, str]:
    """Version of everything that can move a number, by name."""
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


def command_line() -> str | None:
    """The wbgpu command that is running, or ``None`` inside somebody else's program."""
    name = sys.argv[0].rpartition("/")[2] if sys.argv else ""
    if not name.startswith("wbgpu"):
        return None
    return shlex.join([name, *sys.argv[1:]])
