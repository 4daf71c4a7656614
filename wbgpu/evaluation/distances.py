"""Distances of a suite's predictions from its targets, from the features of its episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

from wbgpu.evaluation.journal import FinishedEpisode
from wbgpu.metrics import FrechetDistance
from wbgpu.records.distribution_distance import DistributionDistance
from wbgpu.statistics.cpu_workers import run_on_one_thread


def distribution_distances(
    metrics: Mapping[str, FrechetDistance], episodes: Sequence[FinishedEpisode]
) -> tuple[DistributionDistance, ...]:
    """Each distance over all scored episodes.

    On one thread of the CPU, in the order of ``episodes``: the bits depend neither on who has
    looked at which episode, nor on the device.

    Args:
        metrics: by name.
        episodes: all of the suite, in its order.
    """
    return tuple(
        run_on_one_thread(partial(_distance, name, metric, episodes))
        for name, metric in metrics.items()
    )


def _distance(
    name: str, metric: FrechetDistance, episodes: Sequence[FinishedEpisode]
) -> DistributionDistance:
    metric.reset()
    metric.to("cpu")
    broken = []
    for row in episodes:
        features = row.features.get(name)
        if features is not None and features.error is None:
            metric.add(features)
        elif features is not None:
            broken.append(f"{row.episode.episode_id}: {features.error}")
    result = metric.result()
    metric.reset()
    if not broken:
        return result
    more = f" (and {len(broken) - 1} more episodes)" if len(broken) > 1 else ""
    return dataclasses.replace(result, value=None, reason=f"{broken[0]}{more}")
