"""Bytes and words of four bytes on the GPU: reading them, and arithmetic on all four at once.

What the GPU does in one instruction is assembly here. Triton's interpreter has none; there, the
same is computed byte by byte.
"""

from __future__ import annotations

import triton
import triton.language as tl

INTERPRETED = tl.constexpr(triton.knobs.runtime.interpret)
"""Whether ``TRITON_INTERPRET=1`` was set when Triton was imported."""


@triton.jit
def load_words(frame, index, num_values, ALIGNED: tl.constexpr):
    """Values ``4 index`` to ``4 index + 3`` of a frame as uint32; 0 past its end.

    For consecutive indices: four words an instruction where ALIGNED, that is where address and
    number of values are multiples of 16.
    """
    if ALIGNED:
        words = tl.multiple_of(frame.to(tl.pointer_type(tl.uint32), bitcast=True), 16)
        num_words = tl.multiple_of(num_values // 4, 4)
        out = tl.load(words + index, mask=index < num_words, other=0)
    else:
        out = gather_words(frame, index, num_values, ALIGNED)
    return out


@triton.jit
def gather_words(frame, index, num_values, ALIGNED: tl.constexpr):
    """Like `load_words`, for indices that are not consecutive."""
    if ALIGNED:
        words = frame.to(tl.pointer_type(tl.uint32), bitcast=True)
        word = load_one(words + tl.minimum(index, num_values // 4 - 1), "u32")
        out = tl.where(index < num_values // 4, word, 0).to(tl.uint32)
    else:
        out = tl.zeros(index.shape, tl.uint32)
        for i in tl.static_range(4):
            value = load_one(frame + tl.minimum(4 * index + i, num_values - 1), "u8")
            value = tl.where(4 * index + i < num_values, value, 0)
            out |= value.to(tl.uint32) << (8 * i)
    return out


@triton.jit
def load_one(pointer, KIND: tl.constexpr):
    """The byte ("u8") or word ("u32") at each pointer, as int32.

    Assembly, because Triton's search for a common layout goes through the whole kernel once for
    each load that it knows of: two minutes for these hundreds, where the layout is given.
    """
    if INTERPRETED:
        value = tl.load(pointer).to(tl.int32)
    else:
        value = tl.inline_asm_elementwise(
            "ld.global.nc." + KIND + " $0, [$1];",
            "=r,l",
            [pointer.to(tl.int64)],
            dtype=tl.int32,
            is_pure=True,
            pack=1,
        )
    return value


@triton.jit
def absolute_differences(a, b):
    """|a - b| of each of four unsigned bytes."""
    if INTERPRETED:
        out = tl.zeros_like(a)
        for i in tl.static_range(4):
            out |= _byte_difference(a, b, i) << (8 * i)
    else:
        out = tl.inline_asm_elementwise(
            "{ .reg .u32 z; mov.u32 z, 0; vabsdiff4.u32.u32.u32 $0, $1, $2, z; }",
            "=r,r,r",
            [a, b],
            dtype=tl.uint32,
            is_pure=True,
            pack=1,
        )
    return out


@triton.jit
def add_absolute_differences(a, b, total):
    """``total`` plus |a - b| of each of four unsigned bytes."""
    if INTERPRETED:
        for i in tl.static_range(4):
            total += _byte_difference(a, b, i)
    else:
        total = tl.inline_asm_elementwise(
            "vabsdiff4.u32.u32.u32.add $0, $1, $2, $3;",
            "=r,r,r,r",
            [a, b, total],
            dtype=tl.uint32,
            is_pure=True,
            pack=1,
        )
    return total


@triton.jit
def add_products(a, b, total):
    """``total`` plus the products of each of four unsigned bytes."""
    if INTERPRETED:
        for i in tl.static_range(4):
            total += ((a >> (8 * i)) & 0xFF) * ((b >> (8 * i)) & 0xFF)
    else:
        total = tl.inline_asm_elementwise(
            "dp4a.u32.u32 $0, $1, $2, $3;",
            "=r,r,r,r",
            [a, b, total],
            dtype=tl.uint32,
            is_pure=True,
            pack=1,
        )
    return total


@triton.jit
def _byte_difference(a, b, i: tl.constexpr):
    x = (a >> (8 * i)) & 0xFF
    y = (b >> (8 * i)) & 0xFF
    return tl.maximum(x, y) - tl.minimum(x, y)
