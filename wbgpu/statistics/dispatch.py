"""Choose the implementation and compute statistics."""

from __future__ import annotations

import importlib.util
import os
from typing import Literal, cast

import torch

from wbgpu.errors import ConfigurationError
from wbgpu.statistics.cpu import cpu_statistics
from wbgpu.statistics.cpu_workers import run_after_fork
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import GROUPS, FrameStatistics
from wbgpu.statistics.reference import reference_statistics

StatisticsPath = Literal["reference", "cpu", "triton"]
"""Implementations.

On the same path and kind of device, the same frames give the same bits. The integer fields are
equal on all; ``cpu`` and ``triton`` divide in float32 for ``ssim`` and ``dynamic_ssim_sum``, so
that these have other bits than by ``reference``: within 2e-7 (``triton``: 1e-6) for each frame,
and for each window of the region. ``ssim_gaussian`` of ``cpu`` is within 2e-9; ``triton`` takes it
from ``reference``.
"""

PATHS = ("auto", "reference", "cpu", "triton")
"""What `resolve_path` takes."""


def resolve_path(path: str, device: torch.device | str) -> StatisticsPath:
    """The implementation that ``path`` means on ``device``; record it with the result.

    ``auto`` is ``cpu`` on the CPU, ``triton`` on an NVIDIA GPU where Triton is installed (it comes
    with PyTorch's CUDA builds for Linux), and ``reference`` elsewhere.

    Args:
        path: one of `PATHS`.
        device: where the frames are.

    Raises:
        ConfigurationError: unknown path, or one that cannot run on the device.
    """
    kind = torch.device(device).type
    if path not in PATHS:
        raise ConfigurationError(f"statistics path: expected one of {PATHS}, got {path!r}")
    if path == "cpu" and kind != "cpu":
        raise ConfigurationError(
            f"statistics path 'cpu': the frames are on {kind}; use 'auto' or 'reference'"
        )
    if path == "triton":
        _check_triton(kind)
    if path == "auto":
        if kind == "cpu":
            return "cpu"
        return "triton" if kind == "cuda" and _has_triton() else "reference"
    return cast(StatisticsPath, path)


def _has_triton() -> bool:
    # The kernels have instructions of NVIDIA's in them; torch calls AMD's GPUs cuda as well.
    return importlib.util.find_spec("triton") is not None and torch.version.hip is None


def _check_triton(kind: str) -> None:
    is_interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if kind != "cuda" and not (kind == "cpu" and is_interpreted):
        raise ConfigurationError(
            f"statistics path 'triton': runs on an NVIDIA GPU, the frames are on {kind}; use 'auto'"
        )
    if not _has_triton():
        raise ConfigurationError(
            "statistics path 'triton': needs Triton and an NVIDIA GPU, and PyTorch "
            f"{torch.__version__} here has no such build; use 'auto'"
        )


def frame_statistics(
    batch: FrameBatch, groups: frozenset[str], path: str = "auto"
) -> FrameStatistics:
    """Statistics of the frames that ``batch.row`` names.

    Args:
        groups: subset of `GROUPS`; fields of other groups are ``None``.
        path: one of `PATHS`; see `resolve_path`.

    Returns:
        1-D tensors of length N on the batch's device. They carry no gradient.

    Raises:
        ConfigurationError: unknown group or path.
    """
    groups = frozenset(groups)
    if unknown := sorted(groups - GROUPS):
        raise ConfigurationError(
            f"statistics groups: unknown {unknown}; known: {', '.join(sorted(GROUPS))}"
        )
    resolved = resolve_path(path, batch.target.device)
    if resolved == "cpu":
        return cpu_statistics(batch, groups)
    if resolved == "triton":
        # Where there is no Triton, this module must still load.
        from wbgpu.statistics.triton import triton_statistics  # noqa: PLC0415

        return triton_statistics(batch, groups)
    if batch.target.device.type != "cpu":
        return reference_statistics(batch, groups)
    return run_after_fork(lambda: reference_statistics(batch, groups))
