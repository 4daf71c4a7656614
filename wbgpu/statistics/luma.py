"""SSIM of whole-frame moments of the channels' mean: what worldbench computes without scikit-image.

It is the SSIM formula (Wang et al. 2004) on a single window, the frame, of l = (R + G + B) / 3 with
population moments, clamped to [0, 1]. Moments come from exact integer sums.
"""

from __future__ import annotations

from torch import Tensor

from wbgpu.statistics.ssim_constants import C1, C2


def luma_sums(target: Tensor, prediction: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Sums over each frame of l_x, l_y, l_x^2, l_y^2 and l_x l_y, where l = R + G + B.

    Args:
        target: int64 ``[N, 3, H, W]``, 0-255.
        prediction: int64 ``[N, 3, H, W]``, 0-255.

    Returns:
        Five int64 ``[N]``.
    """
    luma_x, luma_y = target.sum(dim=1), prediction.sum(dim=1)
    return (
        luma_x.sum(dim=(1, 2)),
        luma_y.sum(dim=(1, 2)),
        luma_x.square().sum(dim=(1, 2)),
        luma_y.square().sum(dim=(1, 2)),
        (luma_x * luma_y).sum(dim=(1, 2)),
    )


def luma_ssim(
    sum_x: Tensor, sum_y: Tensor, sum_xx: Tensor, sum_yy: Tensor, sum_xy: Tensor, num_pixels: int
) -> Tensor:
    """Luma SSIM, float64 ``[N]`` in [0, 1], from the sums of `luma_sums` over H * W pixels."""
    scale = 3.0 * num_pixels
    square_scale = 3.0 * scale
    mean_x, mean_y = sum_x.double() / scale, sum_y.double() / scale
    variance_x = sum_xx.double() / square_scale - mean_x.square()
    variance_y = sum_yy.double() / square_scale - mean_y.square()
    covariance = sum_xy.double() / square_scale - mean_x * mean_y
    numerator = (2 * mean_x * mean_y + C1) * (2 * covariance + C2)
    denominator = (mean_x.square() + mean_y.square() + C1) * (variance_x + variance_y + C2)
    return (numerator / denominator).clamp(0.0, 1.0)
