"""Statistics from exact integer sums: what the CPU's and the GPU's kernels have in common."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import UNIFORM_WINDOW, FrameStatistics
from wbgpu.statistics.luma import luma_ssim

CONTEXT_GROUPS = frozenset({"persistence", "dynamic_region"})
"""Groups that compare with the context frame."""

_COPIED = {
    "squared_error": ("squared_error_sum",),
    "frame_delta": ("target_delta_sum", "prediction_delta_sum"),
    "persistence": ("persistence_squared_error_sum",),
    "dynamic_region": (
        "dynamic_area",
        "dynamic_squared_error_sum",
        "dynamic_persistence_squared_error_sum",
        "dynamic_ssim_count",
    ),
}


def statistics_of_sums(
    batch: FrameBatch,
    groups: frozenset[str],
    sums: Mapping[str, Tensor],
    fixed_point: float,
    ssim_gaussian: Tensor | None,
) -> FrameStatistics:
    """Statistics of ``batch.row``.

    Args:
        batch: the frames.
        groups: which fields to give.
        sums: int64 ``[N]`` each, by the name of the field. For ``ssim``, ``half_deficit``: the sum
            of (1 - SSIM) / 2 over windows and channels in units of ``1 / fixed_point``; for
            ``dynamic_ssim_sum``, ``dynamic_half_deficit``, over the windows of the region; for
            ``luma_ssim``, the sums of `luma.luma_sums`: ``luma_x``, ``luma_y``, ``luma_xx``,
            ``luma_yy``, ``luma_xy``.
        fixed_point: see there.
        ssim_gaussian: that field.
    """
    height, width = batch.target.shape[2:]
    out = {"num_values": torch.full_like(batch.row, 3 * height * width)}
    for group in groups & _COPIED.keys():
        out |= {name: sums[name] for name in _COPIED[group]}
    if "frame_delta" in groups:
        out["has_previous"] = batch.previous_row >= 0
    if groups & CONTEXT_GROUPS:
        out["has_context"] = batch.context_row >= 0
    if "ssim_uniform7" in groups:
        out["ssim"] = mean_ssim(sums["half_deficit"], fixed_point, height, width, UNIFORM_WINDOW)
    if ssim_gaussian is not None:
        out["ssim_gaussian"] = ssim_gaussian
    if "luma_moments" in groups:
        luma = [sums[f"luma_{name}"] for name in ("x", "y", "xx", "yy", "xy")]
        out["luma_ssim"] = luma_ssim(luma[0], luma[1], luma[2], luma[3], luma[4], height * width)
    if "dynamic_region" in groups:
        deficits = sums["dynamic_half_deficit"].double() * (2 / fixed_point)
        out["dynamic_ssim_sum"] = out["dynamic_ssim_count"] - deficits / 3
    return FrameStatistics(**out)


def mean_ssim(
    half_deficits: Tensor, fixed_point: float, height: int, width: int, window: int
) -> Tensor:
    """Mean SSIM over channels and windows inside the frame, float64; NaN where there are none."""
    num_windows = 3 * max(height - window + 1, 0) * max(width - window + 1, 0)
    deficits = half_deficits.double() * (2 / fixed_point)
    return 1 - deficits / num_windows if num_windows else deficits * torch.nan
