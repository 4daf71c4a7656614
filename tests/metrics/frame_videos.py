from __future__ import annotations

import numpy as np
import torch

from tests.oracles.videos import to_torch
from wbgpu.metrics import HorizonMetric
from wbgpu.statistics import FrameBatch, FrameStatistics, frame_statistics


def grey(levels: list[float], size: int = 8) -> torch.Tensor:
    """A video of constant frames, uint8 [1, T, 3, size, size]."""
    frames = np.broadcast_to(
        np.array(levels, dtype=np.uint8)[:, None, None, None], (len(levels), size, size, 3)
    )
    return to_torch(frames.copy())[None]


def episode_statistics(
    metric: HorizonMetric,
    prediction: torch.Tensor,
    target: torch.Tensor,
    context: torch.Tensor | None = None,
) -> FrameStatistics:
    """The metric's statistics of [B, T, 3, H, W] videos, as [B, T]."""
    batch = FrameBatch.from_videos(prediction, target, context)
    return frame_statistics(batch, metric.statistics).reshape(*target.shape[:2])
