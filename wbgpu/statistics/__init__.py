"""Per-frame numbers from uint8 frames: squared error, SSIM, frame deltas, dynamic region."""

from wbgpu.statistics.dispatch import PATHS, StatisticsPath, frame_statistics, resolve_path
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import GROUPS, FrameStatistics

__all__ = [
    "FrameBatch",
    "FrameStatistics",
    "GROUPS",
    "PATHS",
    "StatisticsPath",
    "frame_statistics",
    "resolve_path",
]
