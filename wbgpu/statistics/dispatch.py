"""Choose the implementation and compute statistics."""

from __future__ import annotations

from typing import Literal, cast

import torch

from wbgpu.errors import ConfigurationError
from wbgpu.statistics.cpu import cpu_statistics
from wbgpu.statistics.cpu_workers import run_after_fork
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import GROUPS, FrameStatistics
from wbgpu.statistics.reference import reference_statistics

StatisticsPath = Literal["reference", "cpu"]
"""Implementations.

On the same path and kind of device, the same frames give the same bits. The integer fields are
equal on all; ``cpu`` divides in float32 for ``ssim`` and ``dynamic_ssim_sum``, so that these have
other bits than by ``reference``: within 2e-7 for each frame, and for each window of the region.
"""

_PATHS = ("auto", "reference", "cpu")


def resolve_path(path: str, device: torch.device | str) -> StatisticsPath:
    """The implementation that ``path`` means on ``device``; record it with the result.

    Args:
        path: ``auto``, ``reference`` or ``cpu``.
        device: where the frames are.

    Raises:
        ConfigurationError: unknown path, or one that cannot run on the device.
    """
    kind = torch.device(device).type
    if path not in _PATHS:
        raise ConfigurationError(f"statistics path: expected one of {_PATHS}, got {path!r}")
    if path == "cpu" and kind != "cpu":
        raise ConfigurationError(
            f"statistics path 'cpu': the frames are on {kind}; use 'auto' or 'reference'"
        )
    if path == "auto":
        return "cpu" if kind == "cpu" else "reference"
    return cast(StatisticsPath, path)


def frame_statistics(
    batch: FrameBatch, groups: frozenset[str], path: str = "auto"
) -> FrameStatistics:
    """Statistics of the frames that ``batch.row`` names.

    Args:
        groups: subset of `GROUPS`; fields of other groups are ``None``.
        path: ``auto``, ``reference`` or ``cpu``; see `resolve_path`.

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
    if resolve_path(path, batch.target.device) == "cpu":
        return cpu_statistics(batch, groups)
    if batch.target.device.type != "cpu":
        return reference_statistics(batch, groups)
    return run_after_fork(lambda: reference_statistics(batch, groups))
