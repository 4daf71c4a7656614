"""Fast statistics on CPU: exact integer sums over cache-sized tiles, frames split over threads.

Small frames share a tile; large ones are cut into strips of rows that overlap by six. How a frame
is cut depends on its size alone, and every sum is of integers but one, of SSIM along a row of
windows, which always runs along that same row: the bits depend neither on the batch, nor on the
order, nor on the number of threads. SSIM of a window is a float32 quotient of exact integers, so a
frame's SSIM is within 2e-7 of the reference's, not equal to it.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from wbgpu.statistics.cpu_gaussian import GaussianScratch
from wbgpu.statistics.cpu_scratch import FrameScratch, integer_fields
from wbgpu.statistics.cpu_workers import run_in_parallel
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import GAUSSIAN_WINDOW, UNIFORM_WINDOW, FrameStatistics
from wbgpu.statistics.luma import luma_ssim

_CONTEXT_GROUPS = frozenset({"persistence", "dynamic_region"})
_GAUSSIAN_GROUP = frozenset({"ssim_gaussian11"})
_Scratch = TypeVar("_Scratch", FrameScratch, GaussianScratch)
_memory = threading.local()


def cpu_statistics(batch: FrameBatch, groups: frozenset[str]) -> FrameStatistics:
    """Statistics of ``batch.row``. Memory beyond the frames is about 8 MB per thread."""
    num_rows, (height, width) = len(batch.row), batch.target.shape[2:]
    computed = groups if batch.context is not None else groups - _CONTEXT_GROUPS
    in_tiles = computed - _GAUSSIAN_GROUP
    fields = integer_fields(in_tiles)
    wants_gaussian = "ssim_gaussian11" in groups and min(height, width) >= GAUSSIAN_WINDOW
    # Scratch memory outlives this call, so it must not be made of inference tensors.
    with torch.inference_mode(False), torch.no_grad():
        integers = torch.zeros((len(fields), num_rows), dtype=torch.int64, device="cpu")
        deficits = torch.zeros((2, num_rows), dtype=torch.float64, device="cpu")
        gaussian = torch.full((num_rows,), torch.nan, dtype=torch.float64, device="cpu")

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            if in_tiles:
                tiles = _thread_scratch(FrameScratch, height, width, in_tiles)
                tiles.process(batch, part, integers[:, part], deficits[:, part])
            if wants_gaussian:
                _thread_scratch(GaussianScratch, height, width).process(batch, part, gaussian[part])

        if num_rows and height and width:
            run_in_parallel(work, num_rows)
        sums = dict(zip(fields, integers, strict=True))
        return _statistics(batch, groups, sums, deficits, gaussian)


def _statistics(
    batch: FrameBatch,
    groups: frozenset[str],
    sums: dict[str, Tensor],
    deficits: Tensor,
    gaussian: Tensor,
) -> FrameStatistics:
    num_rows, (height, width) = len(batch.row), batch.target.shape[2:]
    out = {"num_values": torch.full((num_rows,), 3 * height * width, device="cpu")}
    for name in ("squared_error_sum", "target_delta_sum", "prediction_delta_sum"):
        if name in sums:
            out[name] = sums[name]
    if "frame_delta" in groups:
        out["has_previous"] = batch.previous_row >= 0
    if "ssim_uniform7" in groups:
        num_windows = 3 * max(height - UNIFORM_WINDOW + 1, 0) * max(width - UNIFORM_WINDOW + 1, 0)
        out["ssim"] = 1 - deficits[0] / num_windows if num_windows else deficits[0] * torch.nan
    if "ssim_gaussian11" in groups:
        out["ssim_gaussian"] = gaussian
    if "luma_moments" in groups:
        luma = [sums[f"luma_{name}"] for name in ("x", "y", "xx", "yy", "xy")]
        out["luma_ssim"] = luma_ssim(luma[0], luma[1], luma[2], luma[3], luma[4], height * width)
    no_region = torch.zeros(num_rows, dtype=torch.int64, device="cpu")
    if groups & _CONTEXT_GROUPS:
        out["has_context"] = batch.context_row >= 0
    if "persistence" in groups:
        name = "persistence_squared_error_sum"
        out[name] = sums.get(name, no_region)
    if "dynamic_region" in groups:
        for name in ("dynamic_squared_error_sum", "dynamic_persistence_squared_error_sum"):
            out[name] = sums.get(name, no_region)
        # The mask is laid over three channels.
        out["dynamic_area"] = sums.get("dynamic_area", no_region) // 3
        out["dynamic_ssim_count"] = sums.get("dynamic_ssim_count", no_region) // 3
        out["dynamic_ssim_sum"] = out["dynamic_ssim_count"] - deficits[1] / 3
    return FrameStatistics(**out)


def _thread_scratch(kind: type[_Scratch], *arguments: Any) -> _Scratch:
    """Scratch memory of this thread for these arguments; the last one is kept."""
    cached = getattr(_memory, kind.__name__, None)
    if cached is None or cached[0] != arguments:
        cached = (arguments, kind(*arguments))
        setattr(_memory, kind.__name__, cached)
    return cast(_Scratch, cached[1])
