"""Per-frame numbers from uint8 frames, and per-prediction log-losses from logits."""

from wbgpu.statistics.dispatch import PATHS, StatisticsPath, frame_statistics, resolve_path
from wbgpu.statistics.frame_batch import FrameBatch
from wbgpu.statistics.frame_statistics import GROUPS, FrameStatistics
from wbgpu.statistics.kl_divergence import Distributions, kl_divergences
from wbgpu.statistics.log_loss import ForecastKind, LogLosses, log_losses
from wbgpu.statistics.ragged import RaggedStatistics

__all__ = [
    "Distributions",
    "ForecastKind",
    "FrameBatch",
    "FrameStatistics",
    "GROUPS",
    "LogLosses",
    "PATHS",
    "RaggedStatistics",
    "StatisticsPath",
    "frame_statistics",
    "kl_divergences",
    "log_losses",
    "resolve_path",
]
