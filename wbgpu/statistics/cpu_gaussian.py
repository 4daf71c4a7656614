"""Gaussian SSIM on CPU, compiled: integers down the columns, float64 along the rows.

The same definition as `gaussian.gaussian_ssim_map`. With E the weighted mean over a window,
s = x + y and d = x - y, variances are E[d^2] - E[d]^2 and E[s^2] - E[s]^2 with
E[s^2] = E[d^2] + 4 E[x y]. Float64 leaves 1e-11 of a bright flat frame where float32 would lose the
variance. Symmetric taps share a multiplication; the order of additions is fixed by value, and half
deficits are added as integers of 2^-30, so no order of windows can change a bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int16, int32, int64, uint16

from wbgpu.statistics.cpu_compiled import (
    add,
    compiled,
    compiled_entry,
    compiled_inline,
    multiply,
    subtract,
)
from wbgpu.statistics.cpu_frames import FlatFrames
from wbgpu.statistics.ssim_constants import C1, C2, gaussian_taps

FIXED_POINT = 1 << 30

_RADIUS = 5
_HALO = 3 * 2 * _RADIUS
# The four planes of a block fill half of a 32 KB cache; not a power of two apart.
_BLOCK = 510
_PLANE = _BLOCK + 36
_TAPS = gaussian_taps()[_RADIUS:]
_T0, _T1, _T2, _T3, _T4, _T5 = _TAPS


@compiled_entry
def gaussian_half_deficits(
    target: FlatFrames,
    prediction: FlatFrames,
    rows: Any,
    size: tuple[int, int],
    half_deficits: Any,
) -> None:
    """Add the sum of (1 - SSIM) / 2 over windows and channels, in units of 1 / FIXED_POINT.

    Args:
        rows: int64 ``[2, n]``: by frame, its row in target and in prediction.
        size: height and width of the frames, at least 11.
        half_deficits: int64 ``[n]``.
    """
    height, width = size
    num_columns = width - 2 * _RADIUS
    num_blocks = -(-3 * num_columns // (_BLOCK - _HALO))
    planes = np.empty(4 * _PLANE, np.float64)
    for k in range(rows.shape[1]):
        for block in range(num_blocks):
            first = 3 * (num_columns * block // num_blocks)
            num_windows = 3 * (num_columns * (block + 1) // num_blocks) - first
            n = num_windows + _HALO
            x_start = rows[0, k] * target.frame_stride + first
            y_start = rows[1, k] * prediction.frame_stride + first
            for r in range(_RADIUS, height - _RADIUS):
                i = x_start + r * target.row_stride
                j = y_start + r * prediction.row_stride
                _start(target.values[i : i + n], prediction.values[j : j + n], planes)
                for offset in range(1, _RADIUS + 1):
                    above = i - offset * target.row_stride
                    below = i + offset * target.row_stride
                    x, x_below = target.values[above : above + n], target.values[below : below + n]
                    above = j - offset * prediction.row_stride
                    below = j + offset * prediction.row_stride
                    y = prediction.values[above : above + n]
                    y_below = prediction.values[below : below + n]
                    _add_means(x, y, x_below, y_below, _TAPS[offset], planes)
                    _add_mean_squares(x, y, x_below, y_below, _TAPS[offset], planes)
                half_deficits[k] += _half_deficit(planes, num_windows)


# Weighted means by column of s, d, d^2 and x y, one plane each. Two loops of two planes: with all
# four, too many arrays could overlap for loops to be vectorised.


@compiled_inline
def _square(a: Any) -> Any:
    # Of a difference modulo 2^16: the square of -255 to 255 is right again, as it fits 16 bits.
    return int32(uint16(multiply(a, a)))


@compiled
def _start(x: Any, y: Any, planes: Any) -> None:
    for i in range(len(x)):
        a, b = uint16(x[i]), uint16(y[i])
        difference = subtract(a, b)
        planes[i] = _T0 * float64(int32(add(a, b)))
        planes[i + _PLANE] = _T0 * float64(int32(int16(difference)))
        planes[i + 2 * _PLANE] = _T0 * float64(_square(difference))
        planes[i + 3 * _PLANE] = _T0 * float64(int32(multiply(a, b)))


@compiled
def _add_means(x: Any, y: Any, x_below: Any, y_below: Any, tap: float, planes: Any) -> None:
    for i in range(len(x)):
        a = add(int16(x[i]), int16(x_below[i]))
        b = add(int16(y[i]), int16(y_below[i]))
        planes[i] += tap * float64(int32(add(a, b)))
        planes[i + _PLANE] += tap * float64(int32(subtract(a, b)))


@compiled
def _add_mean_squares(x: Any, y: Any, x_below: Any, y_below: Any, tap: float, planes: Any) -> None:
    for i in range(len(x)):
        a, b, c, e = uint16(x[i]), uint16(y[i]), uint16(x_below[i]), uint16(y_below[i])
        squares = add(_square(subtract(a, b)), _square(subtract(c, e)))
        products = add(int32(multiply(a, b)), int32(multiply(c, e)))
        planes[i + 2 * _PLANE] += tap * float64(squares)
        planes[i + 3 * _PLANE] += tap * float64(products)


@compiled_inline
def _along_row(planes: Any, i: int) -> Any:
    """Weighted mean of the eleven values of one channel from i on."""
    mean = _T0 * planes[i + 15] + _T1 * (planes[i + 12] + planes[i + 18])
    mean += _T2 * (planes[i + 9] + planes[i + 21])
    mean += _T3 * (planes[i + 6] + planes[i + 24])
    mean += _T4 * (planes[i + 3] + planes[i + 27])
    return mean + _T5 * (planes[i] + planes[i + 30])


@compiled
def _half_deficit(planes: Any, num_windows: int) -> Any:
    total = int64(0)
    for i in range(num_windows):
        mean_s, mean_d = _along_row(planes, i), _along_row(planes, i + _PLANE)
        mean_dd = _along_row(planes, i + 2 * _PLANE)
        mean_xy = _along_row(planes, i + 3 * _PLANE)
        s2, d2 = mean_s * mean_s, mean_d * mean_d
        variance_d = mean_dd - d2
        variance_s = (mean_dd + 4.0 * mean_xy) - s2
        numerator = d2 * (variance_s + 2 * C2) + variance_d * (s2 + 2 * C1)
        denominator = (s2 + d2 + 2 * C1) * (variance_s + variance_d + 2 * C2)
        total += int64(int32(numerator / denominator * FIXED_POINT))
    return total
