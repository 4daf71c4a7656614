"""Frame statistics as plain loops over pixels in Python integers. Slow; for tiny frames."""

from __future__ import annotations

import math

import numpy as np

C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
Frame = np.ndarray
"""uint8 [H, W, 3]"""


def squared_error_sum(first: Frame, second: Frame) -> int:
    pairs = zip(first.ravel().tolist(), second.ravel().tolist(), strict=True)
    return sum((a - b) ** 2 for a, b in pairs)


def delta_sum(first: Frame, second: Frame) -> int:
    pairs = zip(first.ravel().tolist(), second.ravel().tolist(), strict=True)
    return sum(abs(a - b) for a, b in pairs)


def window_ssim(x: list[int], y: list[int]) -> float:
    """SSIM of one window with sample covariance, from exact integers."""
    n = len(x)
    sum_x, sum_y = sum(x), sum(y)
    var_x = n * sum(a * a for a in x) - sum_x**2
    var_y = n * sum(b * b for b in y) - sum_y**2
    cov = n * sum(a * b for a, b in zip(x, y, strict=True)) - sum_x * sum_y
    c1, c2 = C1 * n * n, C2 * n * (n - 1)
    luminance = (2 * sum_x * sum_y + c1) / (sum_x**2 + sum_y**2 + c1)
    return luminance * (2 * cov + c2) / (var_x + var_y + c2)


def ssim_map(x: Frame, y: Frame, size: int = 7) -> dict[tuple[int, int, int], float]:
    """SSIM by (top, left, channel) of every window inside the frame."""
    height, width, channels = x.shape
    return {
        (top, left, c): window_ssim(
            x[top : top + size, left : left + size, c].ravel().tolist(),
            y[top : top + size, left : left + size, c].ravel().tolist(),
        )
        for top in range(height - size + 1)
        for left in range(width - size + 1)
        for c in range(channels)
    }


def mean_ssim(x: Frame, y: Frame) -> float:
    values = ssim_map(x, y).values()
    return math.fsum(values) / len(values)


def dynamic_pixels(target: Frame, context: Frame, threshold: int = 16) -> set[tuple[int, int]]:
    height, width, channels = target.shape
    return {
        (row, column)
        for row in range(height)
        for column in range(width)
        if any(
            abs(int(target[row, column, c]) - int(context[row, column, c])) > threshold
            for c in range(channels)
        )
    }


def dynamic_statistics(target: Frame, prediction: Frame, context: Frame) -> dict[str, float]:
    region = dynamic_pixels(target, context)
    windows = ssim_map(target, prediction)
    inside = {(top, left) for top, left, _ in windows if (top + 3, left + 3) in region}
    return {
        "dynamic_area": len(region),
        "dynamic_squared_error_sum": sum(
            squared_error_sum(target[r, c], prediction[r, c]) for r, c in region
        ),
        "dynamic_persistence_squared_error_sum": sum(
            squared_error_sum(target[r, c], context[r, c]) for r, c in region
        ),
        "dynamic_ssim_count": len(inside),
        "dynamic_ssim_sum": math.fsum(windows[(*corner, c)] for corner in inside for c in range(3))
        / 3,
    }
