"""The fused kernel: from uint8 frames, read once, to a few integers for each part of a frame."""

from __future__ import annotations

import triton
import triton.language as tl

from wbgpu.statistics.frame_statistics import DYNAMIC_THRESHOLD
from wbgpu.statistics.triton_pixels import difference_sums, luma_sums, region_sums
from wbgpu.statistics.triton_windows import window_sums

FIELDS = (
    "squared_error_sum",
    "target_delta_sum",
    "prediction_delta_sum",
    "persistence_squared_error_sum",
    "dynamic_area",
    "dynamic_squared_error_sum",
    "dynamic_persistence_squared_error_sum",
    "luma_x",
    "luma_y",
    "luma_xx",
    "luma_yy",
    "luma_xy",
    "half_deficit",
    "dynamic_half_deficit",
    "dynamic_ssim_count_of_channels",
)
"""What a program writes, in this order; the sums over a frame's programs are the frame's.

See `integer_sums.statistics_of_sums`; ``dynamic_ssim_count_of_channels`` counts a window of the
dynamic region once for each channel.
"""

_NUM_FIELDS = tl.constexpr(len(FIELDS))
_THRESHOLD = tl.constexpr(DYNAMIC_THRESHOLD)


_POINTERS = ("target", "prediction", "context", "rows", "previous_rows", "context_rows", "out")
_NUMBERS = (
    "target_stride",
    "prediction_stride",
    "context_stride",
    "num_values",
    "height",
    "width",
    "num_programs",
    "num_pixel_blocks",
    "num_column_tiles",
    "num_window_blocks",
)


# Compiled for its constants alone: each further compilation would be seconds on first use.
@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=_POINTERS)
def frame_sums(
    target,
    prediction,
    context,
    rows,
    previous_rows,
    context_rows,
    out,
    target_stride,
    prediction_stride,
    context_stride,
    num_values,
    height,
    width,
    num_programs,
    num_pixel_blocks,
    num_column_tiles,
    num_window_blocks,
    DELTA: tl.constexpr,
    CONTEXT: tl.constexpr,
    LUMA: tl.constexpr,
    WINDOWS: tl.constexpr,
    ALIGNED: tl.constexpr,
    BLOCK: tl.constexpr,
    COLUMNS: tl.constexpr,
    LANES: tl.constexpr,
):
    """Program ``i`` computes part ``i % num_programs`` of frame ``rows[i // num_programs]``.

    Its pixels and its windows are of the same frame but not of the same place: programs of a frame
    run together, so that the second reading of a byte finds it in the cache.

    Args:
        target: uint8 frames, ``[H, W, 3]`` each, one every ``target_stride`` bytes.
        prediction: likewise.
        context: likewise; any pointer where not CONTEXT.
        rows: int64; see `wbgpu.statistics.FrameBatch`.
        previous_rows: likewise.
        context_rows: likewise.
        out: int64 ``[programs, len(FIELDS)]``, zeros.
        ALIGNED: addresses and strides of frames are multiples of 16, and so is H * W.
    """
    program = tl.program_id(0)
    item = program // num_programs
    part = program % num_programs
    row = tl.load(rows + item)
    out += program.to(tl.int64) * _NUM_FIELDS
    x = target + row * target_stride
    y = prediction + row * prediction_stride

    previous_row = row
    if DELTA:
        previous_row = tl.load(previous_rows + item)
        # A frame minus itself adds nothing.
        previous_row = tl.where(previous_row < 0, row, previous_row)
    squared_error, target_delta, prediction_delta = difference_sums(
        x,
        y,
        target + previous_row * target_stride,
        prediction + previous_row * prediction_stride,
        part * num_pixel_blocks * (3 * BLOCK),
        3 * num_pixel_blocks,
        num_values,
        DELTA,
        ALIGNED,
        BLOCK,
    )
    tl.store(out, tl.sum(squared_error, 0).to(tl.int64))
    if DELTA:
        tl.store(out + 1, tl.sum(target_delta, 0).to(tl.int64))
        tl.store(out + 2, tl.sum(prediction_delta, 0).to(tl.int64))

    first_group = part * num_pixel_blocks * BLOCK
    c = x
    if CONTEXT:
        context_row = tl.load(context_rows + item)
        # Without a context frame, the target's own: nothing changes, nothing is dynamic.
        c = tl.where(context_row < 0, x, context + context_row * context_stride)
        sums = region_sums(
            x, y, c, first_group, num_pixel_blocks, num_values, _THRESHOLD, ALIGNED, BLOCK
        )
        for i in tl.static_range(4):
            tl.store(out + 3 + i, tl.sum(sums[i], 0).to(tl.int64))
    if LUMA:
        sums = luma_sums(x, y, first_group, num_pixel_blocks, num_values, ALIGNED, BLOCK)
        for i in tl.static_range(5):
            tl.store(out + 7 + i, tl.sum(sums[i], 0).to(tl.int64))
    if WINDOWS:
        top = part // num_column_tiles * (7 * num_window_blocks)
        sums = window_sums(
            x,
            y,
            c,
            part % num_column_tiles,
            top,
            num_window_blocks,
            height,
            width,
            _THRESHOLD,
            CONTEXT,
            COLUMNS,
            LANES,
        )
        tl.store(out + 12, tl.sum(sums[0].to(tl.int64), 0))
        if CONTEXT:
            tl.store(out + 13, tl.sum(sums[1].to(tl.int64), 0))
            tl.store(out + 14, tl.sum(sums[2], 0).to(tl.int64))
