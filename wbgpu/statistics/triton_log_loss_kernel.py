"""The kernel: one pass over a row of logits, no step of which waits for another lane.

Each lane keeps a maximum m of the logits it has seen, their first class, and s, the sum of
exp(x - m) over the others. A logit x costs one exponential, e = exp(-abs(x - m))::

    x > m:   s becomes (s + 1) e, m becomes x
    else:    s becomes s + e

At the end lanes are combined likewise. Without the 1 of the row's maximum a loss of 1e-9 keeps its
digits.
"""

from __future__ import annotations

import triton
import triton.language as tl

from wbgpu.statistics.triton_words import INTERPRETED

_LOWEST = tl.constexpr(-3.4028234663852886e38)


# Compiled anew where addresses, strides or classes are multiples of 16: loads are then wide.
@triton.jit(do_not_specialize_on_alignment=("targets", "loss_nats", "log_sum_exp", "top_class"))
def row_log_losses(
    logits,
    targets,
    loss_nats,
    log_sum_exp,
    top_class,
    row_stride,
    num_classes,
    BLOCK: tl.constexpr,
):
    """Program ``r`` computes row r.

    A log-sum-exp that is NaN or infinite says that the row is no legal one.

    Args:
        logits: float32, bfloat16 or float16; class k of row r is at ``r * row_stride + k``.
        targets: int64 ``[rows]``; rows with a negative one are passed over.
        loss_nats: float64 ``[rows]``.
        log_sum_exp: float64 ``[rows]``.
        top_class: int64 ``[rows]``; the first of equals.
        row_stride: int64.
        num_classes: below 2^31 - BLOCK.
    """
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(targets + row)
    if target >= 0:
        start = logits + row * row_stride
        maximum = tl.full((BLOCK,), float("-inf"), tl.float32)
        # Nothing seen yet: the 1 of the first maximum is not there to be added.
        others = tl.full((BLOCK,), -1.0, tl.float32)
        top = tl.zeros((BLOCK,), tl.int32)
        for first in range(0, num_classes, BLOCK):
            index = first + tl.arange(0, BLOCK)
            x = tl.load(start + index, mask=index < num_classes, other=float("-inf"))
            x = x.to(tl.float32)
            # Of -inf and -inf the difference must not be NaN.
            e = _exp(-tl.abs(x - tl.maximum(maximum, _LOWEST)))
            is_new = x > maximum
            others = tl.where(is_new, tl.fma(others, e, e), others + e)
            top = tl.where(is_new, index, top)
            maximum = tl.where(is_new, x, maximum)

        row_maximum = tl.max(maximum, 0)
        row_top = tl.min(tl.where(maximum == row_maximum, top, 2147483647), 0)
        factor = _exp(tl.maximum(maximum, _LOWEST) - row_maximum)
        is_winner = (maximum == row_maximum) & (top == row_top)
        parts = tl.where(is_winner, others, (others + 1.0) * factor)
        total = tl.sum(parts, 0).to(tl.float64)
        wide = row_maximum.to(tl.float64)
        log_sum = _log1p(total)
        target_logit = tl.load(start + target).to(tl.float64)
        tl.store(loss_nats + row, (wide - target_logit) + log_sum)
        tl.store(log_sum_exp + row, wide + log_sum)
        tl.store(top_class + row, row_top.to(tl.int64))


@triton.jit
def _exp(x):
    """Of float32; 0 where it is below 2^-126. The language's own also handles denormals."""
    if INTERPRETED:
        out = tl.exp(x)
    else:
        out = tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;",
            "=f,f",
            [x * 1.4426950408889634],
            dtype=tl.float32,
            is_pure=True,
            pack=1,
        )
    return out


@triton.jit
def _log1p(x):
    """log(1 + x) of a float64 x >= 0, also where 1 + x rounds to 1."""
    y = 1.0 + x
    # What y lacks of 1 + x, exactly where x is the smaller: log(y + d) = log(y) + d / y.
    return tl.log(y) + (x - (y - 1.0)) / y
