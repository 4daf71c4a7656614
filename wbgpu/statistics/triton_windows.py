"""SSIM of uniform 7x7 windows of one tile of a frame, on the GPU.

A lane walks down a few neighbouring columns of one channel. Sums along the row of x + 2^16 y, of
x^2 + y^2 and of x y come from bytes in the L1 cache; their last seven rows stay in registers, so
that a step down adds one row and takes off another, in integers, which cannot drift. With X, Y the
window's sums of x and y, D = X - Y, M = X^2 + Y^2, and Q, P those of x^2 + y^2 and x y::

    (1 - SSIM) / 2 = u + v - 2 u v
    u = a / b,  a = D^2,                b = 2 M + 2 * 49^2 * C1
    v = c / d,  c = 49 (Q - 2 P) - D^2, d = 2 (49 Q - M) + 2 * 49 * 48 * C2

a and c are exact and nothing cancels; one division serves both. Halved deficits are added as
integers of 2^-22, so equal frames score exactly 1 and the order of tiles cannot change a bit.
"""

from __future__ import annotations

import triton
import triton.language as tl

from wbgpu.statistics.ssim_constants import C1, C2
from wbgpu.statistics.triton_words import INTERPRETED, load_one

FIXED_POINT = 2.0**22
"""Scale of the sums of (1 - SSIM) / 2."""

BLOCK_ROWS = 7
"""Window rows that a lane's registers are laid out for; tiles have a multiple of this."""

MAX_TILE_ROWS = 63
"""Window rows of a tile at most; 127 rows of four columns at 2^22 would still fit 32 bits."""

_FIXED_POINT = tl.constexpr(FIXED_POINT)
_LUMINANCE_CONSTANT = tl.constexpr(2 * 49**2 * C1)
_STRUCTURE_CONSTANT = tl.constexpr(2 * 49 * 48 * C2)


@triton.jit
def window_sums(
    target,
    prediction,
    context,
    column_tile,
    top,
    num_blocks,
    height,
    width,
    THRESHOLD: tl.constexpr,
    CONTEXT: tl.constexpr,
    COLUMNS: tl.constexpr,
    LANES: tl.constexpr,
):
    """Sums over the windows of rows ``[top, top + 7 num_blocks)`` and one tile of columns.

    Args:
        target: pointer to a frame, ``[H, W, 3]`` in memory, H >= 7, W >= COLUMNS + 6.
        prediction: likewise.
        context: likewise; used where CONTEXT.
        THRESHOLD: a pixel is dynamic where a channel differs from the context by more.

    Returns:
        int32 sums of (1 - SSIM) / 2 in units of 1 / `FIXED_POINT`, over all windows and over the
        dynamic ones, and the number of the latter (times three, one for each channel).
    """
    lane = column_tile * LANES + tl.arange(0, LANES)
    first_owned = lane // 3 * COLUMNS
    # Lanes at the right border step back into the frame and leave out what others count.
    first = tl.minimum(first_owned, width - 6 - COLUMNS)
    offset = 3 * (top * width + first) + lane % 3
    owned = ()
    for i in tl.static_range(COLUMNS):
        owned = owned + ((first + i >= first_owned).to(tl.float32),)
    x, y = target + offset, prediction + offset
    centre = 3 * ((top + 3) * width + first + 3)

    zero = tl.zeros((LANES,), tl.int32)
    zeros = ()
    for _ in tl.static_range(3 * COLUMNS):
        zeros = zeros + (zero,)
    ring = (zeros, zeros, zeros, zeros, zeros, zeros, zeros)
    sums = zeros
    for _ in tl.static_range(6):
        new = _row_sums(x, y, COLUMNS)
        sums = _add_row(sums, new, zeros, COLUMNS)
        ring = ring[1:] + (new,)
        x += 3 * width
        y += 3 * width

    total = zero
    dynamic_total = zero
    dynamic_count = tl.zeros((LANES,), tl.float32)
    row = top
    for _ in range(num_blocks):
        for _ in tl.static_range(7):
            new = _row_sums(x, y, COLUMNS)
            sums = _add_row(sums, new, ring[0], COLUMNS)
            ring = ring[1:] + (new,)
            deficit = tl.zeros((LANES,), tl.float32)
            dynamic_deficit = tl.zeros((LANES,), tl.float32)
            num_dynamic = tl.zeros((LANES,), tl.float32)
            for i in tl.static_range(COLUMNS):
                half = _half_deficit(sums[3 * i], sums[3 * i + 1], sums[3 * i + 2])
                deficit = tl.fma(half, owned[i], deficit)
                if CONTEXT:
                    change = _largest_change(target + centre + 3 * i, context + centre + 3 * i)
                    weight = tl.where(change > THRESHOLD, owned[i], 0.0)
                    dynamic_deficit = tl.fma(half, weight, dynamic_deficit)
                    num_dynamic += weight
            is_inside = row <= height - 7
            scale = tl.where(is_inside, _FIXED_POINT, 0.0)
            total += tl.fma(deficit, scale, 0.5).to(tl.int32)
            if CONTEXT:
                dynamic_total += tl.fma(dynamic_deficit, scale, 0.5).to(tl.int32)
                dynamic_count += tl.where(is_inside, num_dynamic, 0.0)
            # The row below the last stays where it is; nothing counts there.
            step = tl.where(row < height - 7, 3 * width, 0)
            x += step
            y += step
            centre += step
            row += 1
    return total, dynamic_total, dynamic_count.to(tl.int32)


@triton.jit
def _row_sums(x, y, COLUMNS: tl.constexpr):
    """Sums over seven neighbours, of x + 2^16 y, x^2 + y^2 and x y, for each column."""
    pairs = ()
    squares = ()
    products = ()
    for i in tl.static_range(COLUMNS + 6):
        a = load_one(x + 3 * i, "u8")
        b = load_one(y + 3 * i, "u8")
        pairs = pairs + (a + b * 65536,)
        squares = squares + (a * a + b * b,)
        products = products + (a * b,)
    pair = pairs[0]
    square = squares[0]
    product = products[0]
    for i in tl.static_range(1, 7):
        pair += pairs[i]
        square += squares[i]
        product += products[i]
    out = (pair, square, product)
    for i in tl.static_range(1, COLUMNS):
        pair += pairs[i + 6] - pairs[i - 1]
        square += squares[i + 6] - squares[i - 1]
        product += products[i + 6] - products[i - 1]
        out = out + (pair, square, product)
    return out


@triton.jit
def _add_row(sums, new, old, COLUMNS: tl.constexpr):
    out = ()
    for i in tl.static_range(3 * COLUMNS):
        out = out + (sums[i] + (new[i] - old[i]),)
    return out


@triton.jit
def _half_deficit(pair, square, product):
    x = pair & 0xFFFF
    y = pair >> 16
    means = x * x + y * y
    difference = x - y
    a = difference * difference
    c = 49 * (square - 2 * product) - a
    b = tl.fma(means.to(tl.float32), 2.0, _LUMINANCE_CONSTANT)
    d = tl.fma((49 * square - means).to(tl.float32), 2.0, _STRUCTURE_CONSTANT)
    a = a.to(tl.float32)
    c = c.to(tl.float32)
    return _divide(tl.fma(a, d - c, c * (b - a)), b * d)


@triton.jit
def _divide(a, b):
    """The quotient a / b, rounded to nearest, for operands whose quotient is an ordinary number.

    The division of the language also handles infinities and denormals, in a branch.
    """
    if INTERPRETED:
        quotient = tl.math.div_rn(a, b)
    else:
        reciprocal = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [b], dtype=tl.float32, is_pure=True, pack=1
        )
        reciprocal = tl.fma(reciprocal, tl.fma(-b, reciprocal, 1.0), reciprocal)
        quotient = a * reciprocal
        quotient = tl.fma(tl.fma(-b, quotient, a), reciprocal, quotient)
    return quotient


@triton.jit
def _largest_change(x, c):
    """Largest difference of the three channels of a pixel."""
    largest = tl.abs(load_one(x, "u8") - load_one(c, "u8"))
    for channel in tl.static_range(1, 3):
        change = tl.abs(load_one(x + channel, "u8") - load_one(c + channel, "u8"))
        largest = tl.maximum(largest, change)
    return largest
