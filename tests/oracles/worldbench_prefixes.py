"""worldbench's own metric classes on the first t frames of a video, for every t."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from worldbench.dataset import Episode
from worldbench.metrics.temporal import TemporalStabilityMetric
from worldbench.metrics.visual import VisualSimilarityMetric
from worldbench.schemas import EpisodeMetadata


def _write(folder: Path, frames: np.ndarray) -> list[Path]:
    folder.mkdir(parents=True)
    paths = [folder / f"{i:05d}.png" for i in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        Image.fromarray(frame).save(path)
    return paths


def worldbench_prefixes(
    folder: Path, target: np.ndarray, prediction: np.ndarray
) -> dict[str, list[Any]]:
    """worldbench's MetricResult by metric name, over frames 1..t.

    ``target`` and ``prediction`` are uint8 [T, H, W, 3]; ``folder`` must not hold frames yet.
    """
    targets, predictions = _write(folder / "gt", target), _write(folder / "pred", prediction)
    results: dict[str, list[Any]] = {"visual_similarity": [], "temporal_stability": []}
    for t in range(1, len(target) + 1):
        episode = Episode("episode", folder, targets[:t], [], [], [], EpisodeMetadata())
        for metric in (VisualSimilarityMetric(), TemporalStabilityMetric()):
            results[metric.name].append(metric.evaluate(episode, predictions[:t]))
    return results
