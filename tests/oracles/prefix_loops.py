"""Temporal stability and order statistics of every prefix, recomputed from scratch with NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def temporal_stability_score(deltas: list[float]) -> float:
    median, maximum, std = np.median(deltas), np.max(deltas), np.std(deltas)
    threshold = max(18.0, 3 * median + 8)
    num_jumps = sum(delta > threshold for delta in deltas)
    penalty = min(60.0, 20 * num_jumps + 0.8 * max(0.0, maximum - threshold))
    penalty += min(35.0, 1.8 * std) + min(20.0, 1.5 * max(0.0, median - 8))
    return float(np.clip(100 - penalty, 0, 100))


def frame_deltas(frames: np.ndarray) -> list[float]:
    """Mean absolute difference of neighbours in uint8 [T, H, W, 3], exact."""
    values = frames.astype(np.int64)
    return [float(np.abs(b - a).sum() / a.size) for a, b in pairwise(values)]
