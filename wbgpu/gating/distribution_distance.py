"""The gate on distances of distributions, such as FVD: a limit, and a minimum of episodes.

There is one number a suite, and so nothing to pair and no interval; with few episodes the number
says more about how many there are than about the model. Under the minimum the gate refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.records.comparison import Comparison, Failure
from wbgpu.records.distribution_distance import MIN_EPISODES, DistributionDistance


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
        IncompatibleResultsError: distances under different ids.
    """
    check_limits({candidate.name: max_increase}, min_episodes)
    if baseline.metric_id != candidate.metric_id:
        raise IncompatibleResultsError(
            f"{baseline.name}: baseline is {baseline.metric_id!r} and candidate "
            f"{candidate.metric_id!r}; measure both with one extractor and the same settings"
        )
    numbers = {
        "metric": candidate.name,
        "num_episodes": candidate.num_episodes,
        "num_features": candidate.num_features,
        "rank_deficiency": candidate.rank_deficiency,
    }
    fewest = min(baseline.num_episodes, candidate.num_episodes)
    if fewest < min_episodes:
        counts = {"num_episodes": fewest, "minimum": min_episodes}
        return [Failure("distance_episodes", numbers | counts)]
    if not candidate.is_of_as_many_as(baseline):
        # A failed episode on one side: the biases differ.
        counted = (
            f"it is of {baseline.num_observations} and {candidate.num_observations} observations, "
            "and depends on how many there are"
        )
        return [Failure("distance_unavailable", {**numbers, "reason": counted})]
    if baseline.value is None or candidate.value is None:
        reason = candidate.reason or baseline.reason
        return [Failure("distance_unavailable", {**numbers, "reason": reason})]
    change = candidate.value - baseline.value
    if change > max_increase:
        values = {"baseline": baseline.value, "candidate": candidate.value, "change": change}
        return [Failure("distance_increase", {**numbers, **values, "allowed": max_increase})]
    return []


def distance_beyond_margin(
    comparison: Comparison, margins: Mapping[str, float], min_episodes: int
) -> list[Failure]:
    """A distance that has a margin is worse by more, or cannot be judged.

    Args:
        comparison: of two results.
        margins: by name, allowed increase. Distances without one are shown and not gated.
        min_episodes: see `distance_failures`.
    """
    failures = []
    for name, margin in margins.items():
        before, after = (
            next((d for d in result.distribution_distances if d.name == name), None)
            for result in (comparison.baseline, comparison.candidate)
        )
        if before is None or after is None:
            lacking = [
                side
                for side, found in (("baseline", before), ("candidate", after))
                if found is None
            ]
            reason = f"it was not measured in the {' and the '.join(lacking)}"
            failures.append(Failure("distance_unavailable", {"metric": name, "reason": reason}))
        else:
            failures += distance_failures(before, after, margin, min_episodes)
    return failures


def check_limits(margins: Mapping[str, float], min_episodes: int) -> dict[str, float]:
    """The margins as floats.

    Raises:
        ConfigurationError: one is out of range; the message begins with its setting.
    """
    if not isinstance(margins, Mapping):
        raise ConfigurationError(f"distance_margins: expected margins by name, got {margins!r}")
    for name, margin in margins.items():
        is_number = isinstance(margin, (int, float)) and not isinstance(margin, bool)
        if not is_number or not (math.isfinite(margin) and margin >= 0):
            raise ConfigurationError(
                f"distance_margins.{name}: expected a finite number >= 0, got {margin!r}"
            )
    if isinstance(min_episodes, bool) or not isinstance(min_episodes, int) or min_episodes < 2:
        raise ConfigurationError(
            f"min_distance_episodes: expected an integer >= 2, got {min_episodes!r}"
        )
    return {str(name): float(margin) for name, margin in margins.items()}
