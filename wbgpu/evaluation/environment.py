"""The versions that a result was made with. Imports no torch."""

from __future__ import annotations

import functools
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from wbgpu.version import __version__

EVALUATION_PACKAGES = (
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
REGRET_PACKAGES = ("numpy",)


def environment(packages: tuple[str, ...]) -> dict[str, str]:
    """Version of everything that can move a number, by name.

    Args:
        packages: whose versions are wanted; one that is not installed is left out. That of torch is
            given wherever it is loaded.
    """
    if "torch" in sys.modules and "torch" not in packages:
        packages = (*packages, "torch")
    return dict(_environment(packages))


@functools.cache
def _environment(packages: tuple[str, ...]) -> dict[str, str]:
    # What is loaded stays, whatever is installed meanwhile; looking it up takes 3 ms.
    versions = {
        "wbgpu": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    if "torch" in sys.modules and (cuda := sys.modules["torch"].version.cuda) is not None:
        versions["cuda"] = cuda
    return versions
