"""The gate on distances of distributions, such as FVD: a limit, and a minimum of episodes.

There is one number a suite, and so nothing to pair and no interval; with few episodes the number
says more about how many there are than about the model. Under the minimum the gate refuses it.
"""

from __future__ import annotations

import math

from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.records.comparison import Failure
from wbgpu.records.distribution_distance import DistributionDistance

MIN_EPISODES = 256
"""An eighth of the 2,048 videos that papers compare; ten say nothing whatever their distance."""


def distance_failures(
    baseline: DistributionDistance,
    candidate: DistributionDistance,
    max_increase: float = 0.0,
    min_episodes: int = MIN_EPISODES,
) -> list[Failure]:
    """What stops a candidate, if anything does.

    Args:
        baseline: of the same suite.
        candidate: to be judged.
        max_increase: by how much its distance may be above the baseline's.
        min_episodes: fewer in either are a failure, ``distance_episodes``, whatever the distances.

    Returns:
        Failures ``distance_episodes``, ``distance_unavailable`` or ``distance_increase``, each with
        the numbers behind it.

    Raises:
        ConfigurationError: a limit out of range.
        IncompatibleResultsError: distances under different ids, or of different numbers of
            episodes, whose biases differ.
    """
    if not (math.isfinite(max_increase) and max_increase >= 0):
        raise ConfigurationError(f"max_increase: expected a number >= 0, got {max_increase!r}")
    if min_episodes < 2:
        raise ConfigurationError(f"min_episodes: expected at least 2, got {min_episodes!r}")
    if baseline.metric_id != candidate.metric_id:
        raise IncompatibleResultsError(
            f"{baseline.name}: baseline is {baseline.metric_id!r} and candidate "
            f"{candidate.metric_id!r}; measure both with one extractor and the same settings"
        )
    if (baseline.num_episodes, baseline.num_observations) != (
        candidate.num_episodes,
        candidate.num_observations,
    ):
        raise IncompatibleResultsError(
            f"{baseline.name}: baseline has {baseline.num_episodes} episodes "
            f"({baseline.num_observations} observations) and candidate {candidate.num_episodes} "
            f"({candidate.num_observations}); the distance depends on how many there are"
        )
    numbers = {
        "metric": candidate.name,
        "num_episodes": candidate.num_episodes,
        "num_features": candidate.num_features,
        "rank_deficiency": candidate.rank_deficiency,
    }
    if candidate.num_episodes < min_episodes:
        return [Failure("distance_episodes", {**numbers, "minimum": min_episodes})]
    if baseline.value is None or candidate.value is None:
        reason = candidate.reason or baseline.reason
        return [Failure("distance_unavailable", {**numbers, "reason": reason})]
    change = candidate.value - baseline.value
    if change > max_increase:
        values = {"baseline": baseline.value, "candidate": candidate.value, "change": change}
        return [Failure("distance_increase", {**numbers, **values, "allowed": max_increase})]
    return []
