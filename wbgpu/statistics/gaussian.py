"""SSIM as first published: 11x11 Gaussian window, sigma 1.5, population covariance.

Equals scikit-image's ``structural_similarity(gaussian_weights=True, sigma=1.5,
use_sample_covariance=False, data_range=255, channel_axis=-1)``; not torchmetrics' default, which
pads the borders.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.statistics.frame_statistics import GAUSSIAN_WINDOW
from wbgpu.statistics.ssim_constants import C1, C2, gaussian_taps


def gaussian_ssim_map(target: Tensor, prediction: Tensor) -> Tensor:
    """SSIM per channel and window, for windows inside the frame.

    Weighted means of x + y, x - y and their squares are taken in float64: nothing to cancel in
    the difference, and equal frames give exactly 1.

    Args:
        target: int64 ``[N, 3, H, W]``, 0-255.
        prediction: int64 ``[N, 3, H, W]``, 0-255.

    Returns:
        float64 ``[N, 3, H-10, W-10]``, or an empty map where a side is under 11.
    """
    total, difference = (target + prediction).double(), (target - prediction).double()
    square_total = _weighted_mean(total).square()
    square_difference = _weighted_mean(difference).square()
    variance_total = _weighted_mean(total.square()) - square_total
    variance_difference = _weighted_mean(difference.square()) - square_difference
    luminance = 2 * square_difference / (square_total + square_difference + 2 * C1)
    structure = 2 * variance_difference / (variance_total + variance_difference + 2 * C2)
    return (1 - luminance) * (1 - structure)


def _weighted_mean(values: Tensor) -> Tensor:
    height, width = (side - GAUSSIAN_WINDOW + 1 for side in values.shape[-2:])
    if height < 1 or width < 1:
        return values[..., :0, :0]
    rows = torch.zeros_like(values[..., :height, :])
    for i, tap in enumerate(gaussian_taps()):
        rows += tap * values[..., i : i + height, :]
    mean = torch.zeros_like(rows[..., :width])
    for i, tap in enumerate(gaussian_taps()):
        mean += tap * rows[..., i : i + width]
    return mean
