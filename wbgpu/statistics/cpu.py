"""Fast statistics on CPU: compiled kernels, frames split over threads.

Every sum is of integers, and how a frame is cut into pieces depends on its size alone: the bits
depend neither on the batch, nor on the order, nor on the number of threads, nor on the memory
layout, nor on the processor. SSIM of a window is a float32 quotient of exact integers, so that a
frame's SSIM is within 2e-7 of the reference's (the Gaussian one, in float64, within 2e-9), not
equal to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.statistics import cpu_gaussian, cpu_kernel
from wbgpu.statistics.cpu_frames import FlatFrames, flat_copy, flat_view, has_flat_rows
from wbgpu.statistics.cpu_workers import run_in_parallel
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import (
    DYNAMIC_THRESHOLD,
    GAUSSIAN_WINDOW,
    FrameStatistics,
)
from wbgpu.statistics.integer_sums import mean_ssim, statistics_of_sums

_FRAMES_PER_COPY = 8


def cpu_statistics(batch: FrameBatch, groups: frozenset[str]) -> FrameStatistics:
    """Statistics of ``batch.row``.

    Frames whose rows are interleaved RGB are read where they are; of others, a few at a time are
    copied. The first call compiles for a few seconds, unless an earlier process could leave the
    machine code in Numba's cache.
    """
    num_rows, (height, width) = len(batch.row), batch.target.shape[2:]
    wanted = cpu_kernel.Wanted(
        squared_error="squared_error" in groups,
        ssim="ssim_uniform7" in groups,
        luma="luma_moments" in groups,
        delta="frame_delta" in groups,
        persistence="persistence" in groups,
        dynamic="dynamic_region" in groups,
    )
    wants_gaussian = "ssim_gaussian11" in groups and min(height, width) >= GAUSSIAN_WINDOW
    sums = np.zeros((num_rows, len(cpu_kernel.SUMS)), np.int64)
    gaussian = np.zeros(num_rows, np.int64)

    def work(start: int, stop: int) -> None:
        for part in _parts(batch, start, stop):
            target, prediction, context, rows = _flat_frames(batch, part)
            if any(wanted):
                cpu_kernel.frame_sums(
                    target,
                    prediction,
                    context,
                    rows,
                    (height, width),
                    wanted,
                    DYNAMIC_THRESHOLD,
                    sums[part],
                )
            if wants_gaussian:
                cpu_gaussian.gaussian_half_deficits(
                    target, prediction, rows[:2], (height, width), gaussian[part]
                )

    if num_rows and height and width:
        run_in_parallel(work, num_rows)
    ssim_gaussian = None
    if "ssim_gaussian11" in groups:
        deficits = torch.from_numpy(gaussian)
        ssim_gaussian = mean_ssim(
            deficits, cpu_gaussian.FIXED_POINT, height, width, GAUSSIAN_WINDOW
        )
    by_name = dict(zip(cpu_kernel.SUMS, torch.from_numpy(sums.T.copy()), strict=True))
    return statistics_of_sums(batch, groups, by_name, cpu_kernel.FIXED_POINT, ssim_gaussian)


def _parts(batch: FrameBatch, start: int, stop: int) -> list[slice]:
    step = stop - start if all(map(has_flat_rows, _videos(batch))) else _FRAMES_PER_COPY
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def _videos(batch: FrameBatch) -> list[Tensor]:
    context = batch.target[:0] if batch.context is None else batch.context
    return [batch.target, batch.prediction, context]


def _flat_frames(
    batch: FrameBatch, part: slice
) -> tuple[FlatFrames, FlatFrames, FlatFrames, npt.NDArray[np.int64]]:
    """Target, prediction and context, and the rows of `cpu_kernel.frame_sums`."""
    row, previous_row, context_row = (
        index[part].numpy() for index in (batch.row, batch.previous_row, batch.context_row)
    )
    frame_rows = np.stack([row, previous_row])
    flat, rows = [], []
    for video, wanted_rows in zip(
        _videos(batch), (frame_rows, frame_rows, context_row[None]), strict=True
    ):
        if has_flat_rows(video):
            flat.append(flat_view(video))
            rows.append(wanted_rows)
        else:
            frames, moved = flat_copy(video, wanted_rows)
            flat.append(frames)
            rows.append(moved)
    target_rows, prediction_rows, context_rows = rows
    indices = [target_rows[0], prediction_rows[0], target_rows[1], prediction_rows[1]]
    return flat[0], flat[1], flat[2], np.stack([*indices, context_rows[0]])
