"""Per-frame numbers from uint8 frames: squared error, SSIM, frame deltas, dynamic region."""

from wbgpu.statistics.dispatch import StatisticsPath, frame_statistics, resolve_path
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import (
    DYNAMIC_THRESHOLD,
    GAUSSIAN_WINDOW,
    GROUPS,
    UNIFORM_WINDOW,
    FrameStatistics,
)

__all__ = [
    "DYNAMIC_THRESHOLD",
    "FrameBatch",
    "FrameStatistics",
    "GAUSSIAN_WINDOW",
    "GROUPS",
    "StatisticsPath",
    "UNIFORM_WINDOW",
    "frame_statistics",
    "resolve_path",
]
