"""Sums over pixels of one part of a frame, on the GPU, four bytes an instruction.

A frame is read as 32-bit words, four values each, or three words a time, which are four whole
pixels. Sums are 32-bit: a program takes at most 4,096 pixels, and no sum over them is larger.
"""

from __future__ import annotations

import triton
import triton.language as tl

from wbgpu.statistics.triton_words import (
    absolute_differences,
    add_absolute_differences,
    add_products,
    gather_words,
    load_words,
)

MAX_PIXELS = 4096
"""Pixels of a program, so that no sum passes 2^32: 765^2 for each (the squared luma)."""


@triton.jit
def difference_sums(
    target,
    prediction,
    previous_target,
    previous_prediction,
    start,
    num_blocks,
    num_values,
    DELTA: tl.constexpr,
    ALIGNED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Sums of (x - y)^2, |x - x'| and |y - y'| over words ``[start, start + num_blocks * BLOCK)``.

    Returns:
        Three uint32 tensors of parts of the sums; the latter two are zero without DELTA.
    """
    squared_error = tl.zeros((BLOCK,), tl.uint32)
    target_delta = tl.zeros((BLOCK,), tl.uint32)
    prediction_delta = tl.zeros((BLOCK,), tl.uint32)
    for block in range(num_blocks):
        index = start + block * BLOCK + tl.arange(0, BLOCK)
        x = load_words(target, index, num_values, ALIGNED)
        y = load_words(prediction, index, num_values, ALIGNED)
        error = absolute_differences(x, y)
        squared_error = add_products(error, error, squared_error)
        if DELTA:
            before = load_words(previous_target, index, num_values, ALIGNED)
            target_delta = add_absolute_differences(x, before, target_delta)
            before = load_words(previous_prediction, index, num_values, ALIGNED)
            prediction_delta = add_absolute_differences(y, before, prediction_delta)
    return squared_error, target_delta, prediction_delta


@triton.jit
def region_sums(
    target,
    prediction,
    context,
    start,
    num_blocks,
    num_values,
    THRESHOLD: tl.constexpr,
    ALIGNED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Sums over groups of four pixels ``[start, start + num_blocks * BLOCK)``, against the context.

    Returns:
        uint32 parts of the sums of (x - c)^2; of the dynamic region's pixels; and over the region
        of (x - y)^2 and of (x - c)^2.
    """
    persistence = tl.zeros((BLOCK,), tl.uint32)
    area = tl.zeros((BLOCK,), tl.uint32)
    region_error = tl.zeros((BLOCK,), tl.uint32)
    region_persistence = tl.zeros((BLOCK,), tl.uint32)
    # Adding this to the low seven bits of a byte sets its eighth where it exceeds the threshold.
    bias: tl.constexpr = (127 - THRESHOLD) * 0x01010101
    for block in range(num_blocks):
        index = start + block * BLOCK + tl.arange(0, BLOCK)
        errors = ()
        changes = ()
        above = ()
        for i in tl.static_range(3):
            x = gather_words(target, 3 * index + i, num_values, ALIGNED)
            y = gather_words(prediction, 3 * index + i, num_values, ALIGNED)
            c = gather_words(context, 3 * index + i, num_values, ALIGNED)
            change = absolute_differences(x, c)
            errors = errors + (absolute_differences(x, y),)
            changes = changes + (change,)
            above = above + ((((change & 0x7F7F7F7F) + bias) | change) & 0x80808080,)
            persistence = add_products(change, change, persistence)
        # Bytes R G B R | G B R G | B R G B, the first in the lowest bits.
        first = above[0] & 0x00808080
        second = (above[0] & 0x80000000) | (above[1] & 0x00008080)
        third = (above[1] & 0x80800000) | (above[2] & 0x00000080)
        fourth = above[2] & 0x80808000
        masks = (
            tl.where(first != 0, 0x00FFFFFF, 0).to(tl.uint32)
            | tl.where(second != 0, 0xFF000000, 0).to(tl.uint32),
            tl.where(second != 0, 0x0000FFFF, 0).to(tl.uint32)
            | tl.where(third != 0, 0xFFFF0000, 0).to(tl.uint32),
            tl.where(third != 0, 0x000000FF, 0).to(tl.uint32)
            | tl.where(fourth != 0, 0xFFFFFF00, 0).to(tl.uint32),
        )
        area += (first != 0).to(tl.uint32) + (second != 0).to(tl.uint32)
        area += (third != 0).to(tl.uint32) + (fourth != 0).to(tl.uint32)
        for i in tl.static_range(3):
            region_error = add_products(errors[i] & masks[i], errors[i], region_error)
            region_persistence = add_products(changes[i] & masks[i], changes[i], region_persistence)
    return persistence, area, region_error, region_persistence


@triton.jit
def luma_sums(
    target,
    prediction,
    start,
    num_blocks,
    num_values,
    ALIGNED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Sums of l_x, l_y, l_x^2, l_y^2 and l_x l_y, l = R + G + B, over groups of four pixels.

    Returns:
        Five uint32 tensors of parts of the sums.
    """
    sum_x = tl.zeros((BLOCK,), tl.uint32)
    sum_y = tl.zeros((BLOCK,), tl.uint32)
    sum_xx = tl.zeros((BLOCK,), tl.uint32)
    sum_yy = tl.zeros((BLOCK,), tl.uint32)
    sum_xy = tl.zeros((BLOCK,), tl.uint32)
    for block in range(num_blocks):
        index = start + block * BLOCK + tl.arange(0, BLOCK)
        x = _lumas(target, index, num_values, ALIGNED)
        y = _lumas(prediction, index, num_values, ALIGNED)
        for i in tl.static_range(4):
            sum_x += x[i]
            sum_y += y[i]
            sum_xx += x[i] * x[i]
            sum_yy += y[i] * y[i]
            sum_xy += x[i] * y[i]
    return sum_x, sum_y, sum_xx, sum_yy, sum_xy


@triton.jit
def _lumas(frame, index, num_values, ALIGNED: tl.constexpr):
    """R + G + B of the four pixels of each group."""
    a = gather_words(frame, 3 * index, num_values, ALIGNED)
    b = gather_words(frame, 3 * index + 1, num_values, ALIGNED)
    c = gather_words(frame, 3 * index + 2, num_values, ALIGNED)
    zero = tl.zeros_like(a)
    return (
        add_products(a, zero + 0x00010101, zero),
        add_products(b, zero + 0x00000101, add_products(a, zero + 0x01000000, zero)),
        add_products(c, zero + 0x00000001, add_products(b, zero + 0x01010000, zero)),
        add_products(c, zero + 0x01010100, zero),
    )
