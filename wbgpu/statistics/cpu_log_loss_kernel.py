"""Log-sum-exp, target and argmax of rows of logits in one pass, compiled.

With m the row's largest logit, at class a, and target t::

    loss = (m - x[t]) + log1p(sum over k != a of exp(x[k] - m))

Without the 1 that class a would add, a loss of 1e-9 keeps its digits. A row is read in blocks that
stay in the first cache: a block becomes float32 there, its maximum may raise m, and the sum so far
is scaled to the new m in float64. Nothing of a row's size is written anywhere.

exp is 2^n times a polynomial: the compiler makes vector code of it, and of no call. Sums are taken
by halves, which is accurate, and gives the same bits with vector registers of any width.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float32

from wbgpu.statistics.cpu_compiled import add, compiled, compiled_entry, compiled_inline, multiply

FLOAT32, BFLOAT16, FLOAT16 = 0, 1, 2
"""What the bits of a row are."""

_BLOCK = 2048
_MIN_BLOCK = 16
_MIN_HALF = 8

_LOG2_E = np.float32(1 / math.log(2))
# Adding it rounds to an integer, which then stands in the lowest bits.
_ROUNDING = np.float32(1.5 * 2**23)
# log(2) in two parts: the first has so few bits that its product with n is exact.
_LOG_2_HIGH = np.float32(355 / 512)
_LOG_2_LOW = np.float32(math.log(2) - 355 / 512)
# (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2, by Chebyshev's nodes; exp is then within 1e-8.
_P0 = np.float32(0.5)
_P1 = np.float32(0.166665778)
_P2 = np.float32(0.0416665561)
_P3 = np.float32(0.00836317334)
_P4 = np.float32(0.00139261759)
# Below it exp is under 2^-126, where exponents end; beside the 1 of the maximum it is nothing.
_SMALLEST = np.float32(-87.0)
_ONE_BITS = np.int32(127 << 23)
_SHIFT_TO_EXPONENT = np.int32(1 << 23)
_TWO_TO_112 = np.float32(2.0**112)


@compiled_entry
def row_log_losses(
    bits: Any,
    kind: int,
    row_stride: int,
    num_classes: int,
    targets: Any,
    loss_nats: Any,
    log_sum_exp: Any,
    top_class: Any,
) -> None:
    """Write losses, log-sum-exps and most likely classes of rows.

    NaN as log-sum-exp says that the row has a NaN or +inf, -inf that all of it is -inf.

    Args:
        bits: int32 or int16 ``[...]``; class k of row r is at ``r * row_stride + k``.
        kind: `FLOAT32`, `BFLOAT16` or `FLOAT16`.
        targets: int64 ``[n]``; rows with a negative one are passed over.
        loss_nats: float64 ``[n]``.
        log_sum_exp: float64 ``[n]``.
        top_class: int64 ``[n]``; the first of equals.
    """
    block_bits = np.empty(_BLOCK, np.int32)
    block = block_bits.view(np.float32)
    scratch = np.empty(_BLOCK // 2, np.float32)
    for row in range(len(targets)):
        target = targets[row]
        if target < 0:
            continue
        maximum, others, top, target_logit = -math.inf, 0.0, 0, -math.inf
        for start in range(0, num_classes, _BLOCK):
            count = min(_BLOCK, num_classes - start)
            size = _MIN_BLOCK
            while size < count:
                size *= 2
            _load(bits, kind, row * row_stride + start, count, block_bits)
            for i in range(count, size):
                block[i] = -np.inf
            if start <= target < start + count:
                target_logit = block[target - start]
            block_maximum = _maximum(block, scratch, size)
            winner = -1
            if block_maximum > maximum:
                winner = 0
                while block[winner] != block_maximum:
                    winner += 1
                had_one = 1.0 if maximum > -math.inf else 0.0
                others = (others + had_one) * math.exp(maximum - block_maximum)
                maximum, top = block_maximum, start + winner
            # NaN hides in no maximum; that of nothing must not make one here.
            _exponentials(block, size, float32(maximum if maximum > -math.inf else 0.0))
            if winner >= 0:
                block[winner] = float32(0.0)
            others += _sum(block, size)
        log_sum = math.log1p(others)
        loss_nats[row] = (maximum - target_logit) + log_sum
        log_sum_exp[row] = maximum + log_sum
        top_class[row] = top


@compiled
def _load(bits: Any, kind: int, offset: int, count: int, block_bits: Any) -> None:
    """Widen ``count`` logits to the bits of float32."""
    # Indices into a slice of its own are known not to be negative, which makes a vector loop.
    source = bits[offset : offset + count]
    if kind == FLOAT32:
        for i in range(count):
            block_bits[i] = source[i]
    elif kind == BFLOAT16:
        for i in range(count):
            block_bits[i] = source[i] << 16
    else:
        for i in range(count):
            block_bits[i] = _widened_half(source[i])


@compiled_inline
def _widened_half(half: Any) -> Any:
    # As if exponent and mantissa were float32's, whose exponents are 112 more; also denormals.
    magnitude = np.int32((half & 0x7FFF) << 13).view(np.float32) * _TWO_TO_112
    # Infinities and NaN have the highest exponent in either format.
    special = np.int32(0x7F800000 if (half & 0x7C00) == 0x7C00 else 0)
    return np.float32(magnitude).view(np.int32) | special | np.int32((half & 0x8000) << 16)


@compiled
def _maximum(block: Any, scratch: Any, size: int) -> Any:
    """The largest of ``size``, a power of two; NaN is passed over or not, as it comes."""
    half = size // 2
    for i in range(half):
        a, b = block[i], block[i + half]
        scratch[i] = a if a > b else b
    while half > _MIN_HALF:
        half //= 2
        for i in range(half):
            a, b = scratch[i], scratch[i + half]
            scratch[i] = a if a > b else b
    out = scratch[0]
    for i in range(1, _MIN_HALF):
        out = out if out > scratch[i] else scratch[i]
    return out


@compiled
def _exponentials(block: Any, size: int, maximum: Any) -> None:
    """``exp(block - maximum)`` in place, for differences up to 0; NaN stays."""
    for i in range(size):
        difference = block[i] - maximum
        rounded = difference * _LOG2_E + _ROUNDING
        n = rounded - _ROUNDING
        r = (difference - n * _LOG_2_HIGH) - n * _LOG_2_LOW
        polynomial = (((_P4 * r + _P3) * r + _P2) * r + _P1) * r + _P0
        mantissa = (polynomial * r * r + r) + float32(1.0)
        exponent = add(multiply(np.float32(rounded).view(np.int32), _SHIFT_TO_EXPONENT), _ONE_BITS)
        power = mantissa * np.int32(exponent).view(np.float32)
        block[i] = float32(0.0) if difference < _SMALLEST else power


@compiled
def _sum(block: Any, size: int) -> Any:
    """The sum of ``size`` values, a power of two, which it overwrites."""
    half = size
    while half > _MIN_HALF:
        half //= 2
        for i in range(half):
            block[i] += block[i + half]
    out = block[0]
    for i in range(1, _MIN_HALF):
        out += block[i]
    return out
