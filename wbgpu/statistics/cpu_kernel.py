"""Integer sums of frames in one pass down their rows, compiled.

With s = x + y and d = x - y, sums over 7x7 windows fit 16 bits and those of d^2 and x y fit 32; the
variance numerators 49 * sum(s^2) - (sum s)^2 are exact in 32 bits, so nothing cancels. With
S2 = (sum s)^2, D2 = (sum d)^2 and v_s, v_d the numerators::

    1 - SSIM = 2 u + 2 v - 4 u v
    u = D2 / (S2 + D2 + 2 * 49^2 * C1)        v = v_d / (v_s + v_d + 2 * 49 * 48 * C2)

Half of it, u + v - 2 u v, is one quotient of sums of non-negative terms in float32: its error is
relative, and equal frames score exactly 1. It is added as an integer of 2^-30, so no order of
addition, and no way to cut a frame, can change a bit.

Sums over the seven rows of a window are kept by column; a new row is added and the one that leaves
subtracted. A frame is cut into blocks of columns, so that these sums stay in the first cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int16, int32, int64, uint16

from wbgpu.statistics.cpu_compiled import (
    add,
    compiled,
    compiled_entry,
    compiled_inline,
    multiply,
    subtract,
)
from wbgpu.statistics.cpu_frames import FlatFrames
from wbgpu.statistics.ssim_constants import C1, C2

SUMS = (
    "squared_error_sum",
    "target_delta_sum",
    "prediction_delta_sum",
    "persistence_squared_error_sum",
    "dynamic_area",
    "dynamic_squared_error_sum",
    "dynamic_persistence_squared_error_sum",
    "dynamic_ssim_count",
    "half_deficit",
    "dynamic_half_deficit",
    "luma_x",
    "luma_y",
    "luma_xx",
    "luma_yy",
    "luma_xy",
)
"""Columns that `frame_sums` fills.

``half_deficit`` is the sum of (1 - SSIM) / 2 over windows and channels in units of 1 / FIXED_POINT,
``dynamic_half_deficit`` that over windows whose centre is in the dynamic region.
"""

FIXED_POINT = 1 << 30

_SQUARED_ERROR, _TARGET_DELTA, _PREDICTION_DELTA, _PERSISTENCE = 0, 1, 2, 3
_AREA, _DYNAMIC_ERROR, _DYNAMIC_PERSISTENCE, _COUNT = 4, 5, 6, 7
_DEFICIT, _DYNAMIC_DEFICIT, _LUMA = 8, 9, 10

_WINDOW = 7
_HALO = 3 * (_WINDOW - 1)
_MARGIN = 3 * (_WINDOW // 2)
_BLOCK = 1020
# Not a power of two: planes 4 KiB apart would wait for each other's stores.
_PLANE = _BLOCK + 36
_MASK_ROWS = 4

_FIXED = np.float32(FIXED_POINT)
_LUMINANCE = np.float32(2 * 49 * 49 * C1)
_STRUCTURE = np.float32(2 * 49 * 48 * C2)


class Wanted(NamedTuple):
    """What `frame_sums` computes; its other columns stay as they are."""

    squared_error: bool
    ssim: bool
    luma: bool
    delta: bool
    persistence: bool
    dynamic: bool


@compiled_entry
def frame_sums(
    target: FlatFrames,
    prediction: FlatFrames,
    context: FlatFrames,
    rows: Any,
    size: tuple[int, int],
    wanted: Wanted,
    threshold: int,
    sums: Any,
) -> None:
    """Add the sums of frames to ``sums``.

    Args:
        rows: int64 ``[5, n]``: by frame, its row in target and in prediction, the rows of its
            predecessors there, and its row in context; negative where there is none.
        size: height and width of the frames, at least 1.
        threshold: a pixel is dynamic where a channel differs from the context by more.
        sums: int64 ``[n, len(SUMS)]``.
    """
    height, row_values = size[0], 3 * size[1]
    has_windows = height >= _WINDOW and size[1] >= _WINDOW and (wanted.ssim or wanted.dynamic)
    halo = _HALO if has_windows else 0
    num_pixels = (row_values - halo) // 3
    num_blocks = -(-3 * num_pixels // (_BLOCK - halo))
    nothing = np.zeros(_PLANE, np.uint8)
    short_sums = np.empty(2 * _PLANE, np.int16)
    long_sums = np.empty(2 * _PLANE, np.int32)
    mask = np.zeros(_MASK_ROWS * _PLANE, np.int8)
    for k in range(rows.shape[1]):
        for block in range(num_blocks):
            first = 3 * (num_pixels * block // num_blocks)
            num_owned = 3 * (num_pixels * (block + 1) // num_blocks) - first
            # A block sees the columns to the right that its last windows reach; the last owns them.
            num_seen = num_owned + halo
            if block == num_blocks - 1:
                num_owned = num_seen
            short_sums[:] = 0
            long_sums[:] = 0
            x_start = rows[0, k] * target.frame_stride + first
            y_start = rows[1, k] * prediction.frame_stride + first
            x_before = rows[2, k] * target.frame_stride + first
            y_before = rows[3, k] * prediction.frame_stride + first
            c_start = rows[4, k] * context.frame_stride + first
            has_region = wanted.dynamic and rows[4, k] >= 0
            for r in range(height):
                i = x_start + r * target.row_stride
                x = target.values[i : i + num_seen]
                i = y_start + r * prediction.row_stride
                y = prediction.values[i : i + num_seen]
                if wanted.squared_error:
                    sums[k, _SQUARED_ERROR] += _squared_error(x, y, num_owned)
                if wanted.luma:
                    _add_luma(x, y, num_owned // 3, sums[k])
                if wanted.delta and rows[2, k] >= 0:
                    i = x_before + r * target.row_stride
                    other = target.values[i : i + num_seen]
                    sums[k, _TARGET_DELTA] += _absolute_difference(x, other, num_owned)
                    i = y_before + r * prediction.row_stride
                    other = prediction.values[i : i + num_seen]
                    sums[k, _PREDICTION_DELTA] += _absolute_difference(y, other, num_owned)
                region = mask[(r % _MASK_ROWS) * _PLANE :]
                if rows[4, k] >= 0 and (wanted.persistence or wanted.dynamic):
                    i = c_start + r * context.row_stride
                    c = context.values[i : i + num_seen]
                    if wanted.persistence:
                        sums[k, _PERSISTENCE] += _squared_error(x, c, num_owned)
                    if wanted.dynamic:
                        _mark_region(x, c, threshold, region, num_seen // 3)
                        sums[k, _AREA] += _count(region, num_owned) // 3
                        sums[k, _DYNAMIC_ERROR] += _region_error(x, y, region, num_owned)
                        sums[k, _DYNAMIC_PERSISTENCE] += _region_error(x, c, region, num_owned)
                if not has_windows:
                    continue
                x_old, y_old = nothing[:num_seen], nothing[:num_seen]
                if r >= _WINDOW:
                    i = x_start + (r - _WINDOW) * target.row_stride
                    x_old = target.values[i : i + num_seen]
                    i = y_start + (r - _WINDOW) * prediction.row_stride
                    y_old = prediction.values[i : i + num_seen]
                _move_short(x, y, x_old, y_old, short_sums)
                _move_long(x, y, x_old, y_old, long_sums)
                if r < _WINDOW - 1:
                    continue
                num_windows = num_seen - _HALO
                if has_region:
                    centre = (r - _WINDOW // 2) % _MASK_ROWS
                    region = mask[centre * _PLANE + _MARGIN :]
                    sums[k, _COUNT] += _count(region, num_windows) // 3
                    whole, dynamic = _region_deficit(short_sums, long_sums, region, num_windows)
                    sums[k, _DEFICIT] += whole
                    sums[k, _DYNAMIC_DEFICIT] += dynamic
                elif wanted.ssim:
                    sums[k, _DEFICIT] += _deficit(short_sums, long_sums, num_windows)


# Sums along a row of a block: at most 1020 values of 16 bits fit 32.


@compiled
def _squared_error(x: Any, y: Any, n: int) -> Any:
    total = int32(0)
    for i in range(n):
        difference = int32(subtract(int16(x[i]), int16(y[i])))
        total = add(total, multiply(difference, difference))
    return int64(total)


@compiled
def _absolute_difference(x: Any, y: Any, n: int) -> Any:
    total = int32(0)
    for i in range(n):
        total = add(total, abs(subtract(int32(x[i]), int32(y[i]))))
    return int64(total)


@compiled
def _region_error(x: Any, y: Any, region: Any, n: int) -> Any:
    total = int32(0)
    for i in range(n):
        difference = subtract(int16(x[i]), int16(y[i])) & int16(region[i])
        total = add(total, multiply(int32(difference), int32(difference)))
    return int64(total)


@compiled
def _count(region: Any, n: int) -> Any:
    total = int32(0)
    for i in range(n):
        total = subtract(total, int32(region[i]))
    return int64(total)


@compiled
def _mark_region(x: Any, c: Any, threshold: int, region: Any, num_pixels: int) -> None:
    """-1 at the three values of each pixel of the dynamic region, else 0."""
    limit = int16(threshold)
    for j in range(num_pixels):
        i = 3 * j
        red = abs(subtract(int16(x[i]), int16(c[i])))
        green = abs(subtract(int16(x[i + 1]), int16(c[i + 1])))
        blue = abs(subtract(int16(x[i + 2]), int16(c[i + 2])))
        marked = -np.int8(max(red, green, blue) > limit)
        region[i] = marked
        region[i + 1] = marked
        region[i + 2] = marked


@compiled
def _add_luma(x: Any, y: Any, num_pixels: int, sums: Any) -> None:
    # 340 pixels of at most 765^2 fit 32 bits.
    sum_x, sum_y, sum_xx, sum_yy, sum_xy = int32(0), int32(0), int32(0), int32(0), int32(0)
    for j in range(num_pixels):
        i = 3 * j
        luma_x = add(add(int32(x[i]), int32(x[i + 1])), int32(x[i + 2]))
        luma_y = add(add(int32(y[i]), int32(y[i + 1])), int32(y[i + 2]))
        sum_x = add(sum_x, luma_x)
        sum_y = add(sum_y, luma_y)
        sum_xx = add(sum_xx, multiply(luma_x, luma_x))
        sum_yy = add(sum_yy, multiply(luma_y, luma_y))
        sum_xy = add(sum_xy, multiply(luma_x, luma_y))
    sums[_LUMA] += sum_x
    sums[_LUMA + 1] += sum_y
    sums[_LUMA + 2] += sum_xx
    sums[_LUMA + 3] += sum_yy
    sums[_LUMA + 4] += sum_xy


# Sums by column of s and d (16 bits: at most 3570), and of d^2 and x y (32 bits), one plane each.
# Two loops of two planes: with all four, too many arrays could overlap for loops to be vectorised.


@compiled
def _move_short(x: Any, y: Any, x_old: Any, y_old: Any, sums: Any) -> None:
    for i in range(len(x)):
        a = subtract(int16(x[i]), int16(x_old[i]))
        b = subtract(int16(y[i]), int16(y_old[i]))
        sums[i] = add(sums[i], add(a, b))
        sums[i + _PLANE] = add(sums[i + _PLANE], subtract(a, b))


@compiled_inline
def _square(a: Any) -> Any:
    # Of a difference modulo 2^16: the square of -255 to 255 is right again, as it fits 16 bits.
    return int32(uint16(multiply(a, a)))


@compiled
def _move_long(x: Any, y: Any, x_old: Any, y_old: Any, sums: Any) -> None:
    for i in range(len(x)):
        a, b, a_old, b_old = uint16(x[i]), uint16(y[i]), uint16(x_old[i]), uint16(y_old[i])
        square = subtract(_square(subtract(a, b)), _square(subtract(a_old, b_old)))
        product = subtract(int32(multiply(a, b)), int32(multiply(a_old, b_old)))
        sums[i] = add(sums[i], square)
        sums[i + _PLANE] = add(sums[i + _PLANE], product)


@compiled_inline
def _window_sum(sums: Any, i: int) -> Any:
    """Along a row a window is seven values three apart."""
    left = add(add(sums[i], sums[i + 3]), add(sums[i + 6], sums[i + 9]))
    return add(left, add(add(sums[i + 12], sums[i + 15]), sums[i + 18]))


@compiled_inline
def _half_deficit(short_sums: Any, long_sums: Any, i: int) -> Any:
    """(1 - SSIM) / 2 of the window that starts at value i, in units of 2^-30."""
    sum_s = int32(_window_sum(short_sums, i))
    sum_d = int32(_window_sum(short_sums, i + _PLANE))
    sum_dd = _window_sum(long_sums, i)
    sum_xy = _window_sum(long_sums, i + _PLANE)
    s2, d2 = multiply(sum_s, sum_s), multiply(sum_d, sum_d)
    means = add(s2, d2)
    # s^2 + d^2 = 2 d^2 + 4 x y
    variances = subtract(multiply(int32(98), add(sum_dd, add(sum_xy, sum_xy))), means)
    variance_d = subtract(multiply(int32(49), sum_dd), d2)
    variance_s = subtract(variances, variance_d)
    numerator = float32(d2) * (float32(variance_s) + _STRUCTURE) + float32(variance_d) * (
        float32(s2) + _LUMINANCE
    )
    denominator = (float32(means) + _LUMINANCE) * (float32(variances) + _STRUCTURE)
    return int32(numerator / denominator * _FIXED)


# A deficit is at most 2^30. Sums of its two halves fit 32 bits, so a loop needs no wider registers.


@compiled_inline
def _low(deficit: Any) -> Any:
    return int32(deficit & 0x7FFF)


@compiled_inline
def _high(deficit: Any) -> Any:
    return int32(deficit >> 15)


@compiled
def _deficit(short_sums: Any, long_sums: Any, num_windows: int) -> Any:
    low, high = int32(0), int32(0)
    for i in range(num_windows):
        half = _half_deficit(short_sums, long_sums, i)
        low = add(low, _low(half))
        high = add(high, _high(half))
    return (int64(high) << 15) + int64(low)


@compiled
def _region_deficit(short_sums: Any, long_sums: Any, region: Any, num_windows: int) -> Any:
    low, high, dynamic_low, dynamic_high = int32(0), int32(0), int32(0), int32(0)
    for i in range(num_windows):
        half = _half_deficit(short_sums, long_sums, i)
        low = add(low, _low(half))
        high = add(high, _high(half))
        dynamic = int32(half & region[i])
        dynamic_low = add(dynamic_low, _low(dynamic))
        dynamic_high = add(dynamic_high, _high(dynamic))
    whole = (int64(high) << 15) + int64(low)
    return whole, (int64(dynamic_high) << 15) + int64(dynamic_low)
