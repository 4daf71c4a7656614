"""Reference statistics: readable, exact, on any device.

Window sums are integers; SSIM follows from them in float64. Values per window are added as
integers of 2^-40, so that the order of addition, which differs between devices and batch sizes,
cannot change a bit; equal frames give exactly 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import (
    DYNAMIC_THRESHOLD,
    UNIFORM_WINDOW,
    FrameStatistics,
)
from wbgpu.statistics.gaussian import gaussian_ssim_map
from wbgpu.statistics.luma import luma_ssim, luma_sums
from wbgpu.statistics.ssim_constants import C1, C2

_FIXED_POINT = 2.0**40
_VALUES_PER_CHUNK = 1 << 20


def reference_statistics(batch: FrameBatch, groups: frozenset[str]) -> FrameStatistics:
    """Statistics of ``batch.row``, a few frames at a time, so that memory stays bounded."""
    num_values = batch.target.shape[1:].numel()
    chunk = max(1, _VALUES_PER_CHUNK // max(num_values, 1))
    starts = range(0, max(len(batch.row), 1), chunk)
    return FrameStatistics.cat([_chunk(batch, groups, slice(s, s + chunk)) for s in starts])


def _chunk(batch: FrameBatch, groups: frozenset[str], part: slice) -> FrameStatistics:
    row = batch.row[part]
    target, prediction = batch.target[row].long(), batch.prediction[row].long()
    error = target - prediction
    out = {"num_values": torch.full_like(row, target.shape[1:].numel())}
    if "squared_error" in groups:
        out["squared_error_sum"] = _frame_sum(error.square())
    if "ssim_uniform7" in groups:
        out["ssim"] = _mean(uniform_ssim_map(target, prediction))
    if "ssim_gaussian11" in groups:
        out["ssim_gaussian"] = _mean(gaussian_ssim_map(target, prediction))
    if "luma_moments" in groups:
        num_pixels = target.shape[-2:].numel()
        out["luma_ssim"] = luma_ssim(*luma_sums(target, prediction), num_pixels)
    if "frame_delta" in groups:
        has_previous = batch.previous_row[part] >= 0
        previous = torch.where(has_previous, batch.previous_row[part], row)
        before, predicted_before = batch.target[previous].long(), batch.prediction[previous].long()
        out["target_delta_sum"] = _frame_sum((target - before).abs())
        out["prediction_delta_sum"] = _frame_sum((prediction - predicted_before).abs())
        out["has_previous"] = has_previous
    if groups & {"persistence", "dynamic_region"}:
        has_context = batch.context_row[part] >= 0
        out["has_context"] = has_context
        change = torch.zeros_like(target)
        if batch.context is not None:
            context = batch.context[batch.context_row[part].clamp(min=0)].long()
            change = (target - context) * has_context[:, None, None, None]
        if "persistence" in groups:
            out["persistence_squared_error_sum"] = _frame_sum(change.square())
        if "dynamic_region" in groups:
            out |= _dynamic_region(change, error, uniform_ssim_map(target, prediction))
    return FrameStatistics(**out)


def _dynamic_region(change: Tensor, error: Tensor, ssim_map: Tensor) -> dict[str, Tensor]:
    region = (change.abs() > DYNAMIC_THRESHOLD).any(dim=1, keepdim=True).long()
    top = left = UNIFORM_WINDOW // 2
    height, width = ssim_map.shape[-2:]
    centres = region[..., top : top + height, left : left + width]
    total = _frame_sum(centres * _fixed_point(ssim_map))
    return {
        "dynamic_area": _frame_sum(region),
        "dynamic_squared_error_sum": _frame_sum(region * error.square()),
        "dynamic_persistence_squared_error_sum": _frame_sum(region * change.square()),
        "dynamic_ssim_sum": total.double() / (error.shape[1] * _FIXED_POINT),
        "dynamic_ssim_count": _frame_sum(centres),
    }


def uniform_ssim_map(target: Tensor, prediction: Tensor) -> Tensor:
    """SSIM per channel and window, uniform 7x7, sample covariance (n / (n - 1), n = 49).

    Args:
        target: int64 or int32 ``[N, 3, H, W]``, 0-255; no sum passes 2^29.
        prediction: of the same kind and shape.

    Returns:
        float64 ``[N, 3, H-6, W-6]``, or an empty map where a side is under 7.
    """
    n = UNIFORM_WINDOW**2
    sum_x, sum_y = _window_sum(target), _window_sum(prediction)
    sum_xy = _window_sum(target * prediction)
    sum_squares = _window_sum(target.square() + prediction.square())
    product = sum_x * sum_y
    squares = sum_x.square() + sum_y.square()
    # Exact integers up to here; a Python float times an int64 tensor would be float32.
    covariance = (2 * (n * sum_xy - product)).double()
    variance = (n * sum_squares - squares).double()
    product, squares = (2 * product).double(), squares.double()
    c1, c2 = C1 * n * n, C2 * n * (n - 1)
    return (product + c1) / (squares + c1) * ((covariance + c2) / (variance + c2))


def _window_sum(values: Tensor) -> Tensor:
    height, width = (side - UNIFORM_WINDOW + 1 for side in values.shape[-2:])
    if height < 1 or width < 1:
        return values[..., :0, :0]
    rows = torch.zeros_like(values[..., :height, :])
    for i in range(UNIFORM_WINDOW):
        rows += values[..., i : i + height, :]
    sums = torch.zeros_like(rows[..., :width])
    for i in range(UNIFORM_WINDOW):
        sums += rows[..., i : i + width]
    return sums


def _fixed_point(values: Tensor) -> Tensor:
    return (values * _FIXED_POINT).round().long()


def _mean(ssim_map: Tensor) -> Tensor:
    total = _frame_sum(_fixed_point(ssim_map)).double()
    num_windows = ssim_map.shape[1:].numel()
    return total / (num_windows * _FIXED_POINT) if num_windows else total * torch.nan


def _frame_sum(values: Tensor) -> Tensor:
    return values.sum(dim=(1, 2, 3))
