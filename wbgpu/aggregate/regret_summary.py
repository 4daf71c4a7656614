"""From episodes to a regret result: means, standard errors and intervals over episodes.

Means are exactly rounded sums divided by the count, so the order of the episodes changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.errors import ConfigurationError
from wbgpu.records.regret import (
    INTERVAL_LEVEL,
    EpisodeRegret,
    HorizonRegret,
    NatsEstimate,
    NatsInterval,
    RegretResult,
    RegretTotals,
)

Floats = npt.NDArray[np.float64]


def summarize_regret(
    episodes: Sequence[EpisodeRegret],
    *,
    producer: str,
    created_at: str,
    world: str,
    world_sha256: str,
    contestant: str,
    configuration: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    command: str | None = None,
) -> RegretResult:
    """The result of some episodes; arguments are those of :class:`RegretResult`.

    Raises:
        ConfigurationError: there is no episode, a seed stands twice, or episodes differ in their
            number of steps or in their variables.
    """
    num_steps = _num_steps(episodes)
    regret = np.array([e.step_regret_nats for e in episodes])
    expected = np.array([e.step_expected_regret_nats for e in episodes])
    totals = [episode.totals for episode in episodes]
    return RegretResult(
        producer=producer,
        created_at=created_at,
        world=world,
        world_sha256=world_sha256,
        contestant=contestant,
        num_steps=num_steps,
        episodes=tuple(episodes),
        totals=_mean_totals(totals),
        per_variable={
            name: _mean_totals([episode.per_variable[name] for episode in episodes])
            for name in episodes[0].per_variable
        },
        regret_per_step=t_interval([t.cumulative_regret_nats / num_steps for t in totals]),
        expected_regret_per_step=t_interval([t.expected_regret_nats / num_steps for t in totals]),
        horizons=_horizons(regret, expected),
        configuration=configuration or {},
        environment=environment or {},
        command=command,
    )


def t_interval(values: Sequence[float], level: float = INTERVAL_LEVEL) -> NatsInterval:
    """Student-t interval for the mean of independent values.

    mean +- t * sample standard deviation / sqrt(count), with count - 1 degrees of freedom
    (Student, The probable error of a mean, Biometrika 1908).

    Args:
        values: at least one; without an interval where one is infinite.
        level: between 0 and 1, both excluded.
    """
    estimate = _estimate(values, values)
    error = estimate.standard_error
    if error is None:
        return NatsInterval(estimate.mean, None, None, level, estimate.count)
    width = two_sided_t(level, estimate.count - 1) * error
    mean = estimate.mean
    return NatsInterval(mean, mean - width, mean + width, level, estimate.count)


def _num_steps(episodes: Sequence[EpisodeRegret]) -> int:
    if not episodes:
        raise ConfigurationError("expected at least one episode, got none")
    first, seen = episodes[0], set()
    for episode in episodes:
        if episode.seed in seen:
            raise ConfigurationError(f"the seed {episode.seed} stands twice")
        seen.add(episode.seed)
        lengths = {len(episode.step_regret_nats), len(episode.step_expected_regret_nats)}
        if lengths != {len(first.step_regret_nats)}:
            raise ConfigurationError(
                f"seed {episode.seed}: expected {len(first.step_regret_nats)} steps as seed "
                f"{first.seed} has, got {sorted(lengths)}"
            )
        if tuple(episode.per_variable) != tuple(first.per_variable):
            raise ConfigurationError(
                f"seed {episode.seed}: expected the variables {', '.join(first.per_variable)}, "
                f"got {', '.join(episode.per_variable)}"
            )
    if not first.step_regret_nats:
        raise ConfigurationError("expected at least one step, got none")
    return len(first.step_regret_nats)


def _mean_totals(totals: Sequence[RegretTotals]) -> RegretTotals:
    def mean(name: str) -> float:
        return math.fsum(getattr(part, name) for part in totals) / len(totals)

    return RegretTotals(
        cumulative_regret_nats=mean("cumulative_regret_nats"),
        expected_regret_nats=mean("expected_regret_nats"),
        reference_loss_nats=mean("reference_loss_nats"),
        log_loss_nats=mean("log_loss_nats"),
        num_infinite=sum(part.num_infinite for part in totals),
        num_infinite_expected=sum(part.num_infinite_expected for part in totals),
        finite_regret_nats=mean("finite_regret_nats"),
        finite_expected_regret_nats=mean("finite_expected_regret_nats"),
    )


def _horizons(regret: Floats, expected: Floats) -> tuple[HorizonRegret, ...]:
    prefix_regret, step_regret = _views(regret)
    prefix_expected, step_expected = _views(expected)
    return tuple(
        HorizonRegret(horizon, *estimates)
        for horizon, estimates in enumerate(
            zip(prefix_regret, prefix_expected, step_regret, step_expected, strict=True), start=1
        )
    )


def _views(steps: Floats) -> tuple[list[NatsEstimate], list[NatsEstimate]]:
    """Prefix and step view of ``[episodes, T]``."""
    is_lost = np.isinf(steps)
    finite = np.where(is_lost, 0.0, steps)
    # Infinite from the first infinite step on.
    prefixes = np.where(np.logical_or.accumulate(is_lost, axis=1), np.inf, 0.0)
    sums = np.cumsum(finite, axis=1)
    return (
        [_estimate(*pair) for pair in _columns(sums + prefixes, sums)],
        [_estimate(*pair) for pair in _columns(steps, finite)],
    )


def _columns(values: Floats, finite: Floats) -> zip[tuple[list[float], list[float]]]:
    return zip(values.T.tolist(), finite.T.tolist(), strict=True)


def _estimate(values: Sequence[float], finite: Sequence[float]) -> NatsEstimate:
    """Of values whose finite parts are ``finite``."""
    count = len(values)
    mean = math.fsum(values) / count
    if math.isinf(mean):
        num_infinite = sum(map(math.isinf, values))
        return NatsEstimate(mean, None, count, num_infinite, math.fsum(finite) / count)
    error = None
    if count > 1:
        squares = math.fsum([(value - mean) ** 2 for value in values])
        error = math.sqrt(squares / (count - 1) / count)
    return NatsEstimate(mean, error, count, 0, mean)
