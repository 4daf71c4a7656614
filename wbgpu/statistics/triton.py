"""Statistics on an NVIDIA GPU: one kernel reads each uint8 frame once and writes a few integers.

A frame is cut into parts by its size alone, and all sums over parts are of integers: the bits
depend neither on the batch nor on the order in which programs run. SSIM of a window is a float32
quotient of exact integers, so a frame's SSIM is within 1e-6 of the reference's, not equal to it.
The Gaussian SSIM is the reference's, in float64, a few frames at a time.

Frames that are not NHWC in memory are copied, as uint8, first. Triton compiles each combination of
groups on first use, in seconds, and keeps the result in its cache folder.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import torch
from torch import Tensor
from triton import cdiv

from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import UNIFORM_WINDOW, FrameStatistics
from wbgpu.statistics.integer_sums import CONTEXT_GROUPS, statistics_of_sums
from wbgpu.statistics.reference import reference_statistics
from wbgpu.statistics.triton_kernel import FIELDS, frame_sums
from wbgpu.statistics.triton_pixels import MAX_PIXELS
from wbgpu.statistics.triton_windows import BLOCK_ROWS, FIXED_POINT, MAX_TILE_ROWS

_GAUSSIAN_GROUP = frozenset({"ssim_gaussian11"})


@dataclass(frozen=True)
class KernelLaunch:
    """How frames of one size are cut into programs of `triton_kernel.frame_sums`.

    Attributes:
        num_programs: of each frame.
        sizes: the kernel's other arguments that follow from the size of the frame.
        constants: what the kernel is compiled for, beside groups and alignment.
        num_warps: of 32 threads in a program.
    """

    num_programs: int
    sizes: dict[str, int]
    constants: dict[str, int]
    num_warps: int

    @classmethod
    def of(cls, height: int, width: int, wants_windows: bool) -> KernelLaunch:
        """For frames of at least one pixel, of at least 7 on each side where windows are wanted.

        Programs with windows are one warp: their registers allow no more, and a warp's lanes fit
        the columns of a small frame better than four warps' do. Without windows, reading is all
        the work, and larger blocks keep more of it in flight.
        """
        num_groups = cdiv(height * width, 4)
        num_column_tiles = num_window_blocks = 1
        if wants_windows:
            num_warps, lanes, block = 1, 32, 128
            columns = 4 if width >= UNIFORM_WINDOW + 3 else 1
            window_rows, window_columns = height - UNIFORM_WINDOW + 1, width - UNIFORM_WINDOW + 1
            num_column_tiles = cdiv(3 * cdiv(window_columns, columns), lanes)
            num_row_tiles = cdiv(window_rows, MAX_TILE_ROWS)
            num_window_blocks = cdiv(window_rows, BLOCK_ROWS * num_row_tiles)
            num_programs = num_column_tiles * num_row_tiles
        else:
            num_warps, lanes, columns, block = 4, 32, 1, 1024
            num_programs = cdiv(num_groups, block)
        num_pixel_blocks = cdiv(num_groups, block * num_programs)
        assert 4 * block * num_pixel_blocks <= MAX_PIXELS
        return cls(
            num_programs,
            {
                "num_values": 3 * height * width,
                "height": height,
                "width": width,
                "num_programs": num_programs,
                "num_pixel_blocks": num_pixel_blocks,
                "num_column_tiles": num_column_tiles,
                "num_window_blocks": num_window_blocks,
            },
            {"BLOCK": block, "COLUMNS": columns, "LANES": lanes},
            num_warps,
        )


def triton_statistics(batch: FrameBatch, groups: frozenset[str]) -> FrameStatistics:
    """Statistics of ``batch.row``. Memory beyond the frames is about 3 KB a frame of 256x256."""
    sums = _frame_sums(batch, groups)
    sums["dynamic_ssim_count"] = sums.pop("dynamic_ssim_count_of_channels") // 3
    ssim_gaussian = None
    if "ssim_gaussian11" in groups:
        ssim_gaussian = reference_statistics(batch, _GAUSSIAN_GROUP).require("ssim_gaussian")
    return statistics_of_sums(batch, groups, sums, FIXED_POINT, ssim_gaussian)


def _frame_sums(batch: FrameBatch, groups: frozenset[str]) -> dict[str, Tensor]:
    """The kernel's sums, int64 ``[N]``, by field; zero where a field was not asked for."""
    num_rows, (height, width) = len(batch.row), batch.target.shape[2:]
    if not num_rows or not height or not width or not groups - _GAUSSIAN_GROUP:
        return dict.fromkeys(FIELDS, torch.zeros_like(batch.row))
    wants_context = bool(groups & CONTEXT_GROUPS) and batch.context is not None
    wants_windows = "ssim_uniform7" in groups or ("dynamic_region" in groups and wants_context)
    wants_windows = wants_windows and min(height, width) >= UNIFORM_WINDOW
    target, prediction = _interleaved(batch.target), _interleaved(batch.prediction)
    context = target
    if wants_context and batch.context is not None and len(batch.context):
        context = _interleaved(batch.context)
    launch = KernelLaunch.of(height, width, wants_windows)
    out = torch.zeros(
        (num_rows * launch.num_programs, len(FIELDS)), dtype=torch.int64, device=target.device
    )
    frames = (target, prediction, context)
    is_aligned = height * width % 16 == 0 and all(
        video.data_ptr() % 16 == video.stride(0) % 16 == 0 for video in frames
    )
    on_device = target.device.type == "cuda"
    with torch.cuda.device(target.device) if on_device else contextlib.nullcontext():
        frame_sums[(len(out),)](
            *frames,
            batch.row.contiguous(),
            batch.previous_row.contiguous(),
            batch.context_row.contiguous(),
            out,
            *(video.stride(0) for video in frames),
            **launch.sizes,
            DELTA="frame_delta" in groups,
            CONTEXT=wants_context,
            LUMA="luma_moments" in groups,
            WINDOWS=wants_windows,
            ALIGNED=is_aligned,
            **launch.constants,
            num_warps=launch.num_warps,
            # A multiplication fused with an addition, or not, would be other bits by group.
            enable_fp_fusion=False,
        )
    sums = out.view(num_rows, launch.num_programs, len(FIELDS)).sum(dim=1)
    return dict(zip(FIELDS, sums.unbind(dim=1), strict=True))


def _interleaved(frames: Tensor) -> Tensor:
    """uint8 ``[F, 3, H, W]`` as ``[F, H, W, 3]``, each frame without gaps."""
    frames = frames.permute(0, 2, 3, 1)
    return frames if frames[:1].is_contiguous() else frames.contiguous()
