"""What a logger is told of a result. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from wbgpu.records.comparison import Comparison, Verdict
from wbgpu.records.suite import SuiteResult

_LOG_LOSS = "log_loss"
_REGRETS = ("regret_nats", "expected_regret_nats", "reference_loss_nats", "top1_accuracy")


def logged_values(result: SuiteResult, horizons: Sequence[int] | None = None) -> dict[str, float]:
    """Numbers of a result by name; what is missing is left out.

    ``score`` is the composite, ``<metric>`` its mean over episodes, ``<metric>/horizon_<h>`` that
    of steps 1..h; distances such as ``fvd`` are of the suite; ``regret_nats`` and its like are
    means over episodes, for models with logits and a reference. ``failed_episodes`` counts.

    Args:
        result: of the suite.
        horizons: which ones, from 1; ``None`` for powers of two and the last.
    """
    summary = result.summary
    values: dict[str, float] = {"failed_episodes": float(len(result.failed_episodes))}
    if summary.score is not None:
        values["score"] = summary.score
    for name, metric in summary.metrics.items():
        if metric.distribution is not None:
            values[name] = metric.distribution.mean
    for distance in result.distribution_distances:
        if distance.value is not None:
            values[distance.name] = distance.value
    chosen = set(_powers_of_two(len(summary.horizons)) if horizons is None else horizons)
    for horizon in summary.horizons:
        if horizon.horizon in chosen:
            for name, distribution in horizon.prefix.items():
                values[f"{name}/horizon_{horizon.horizon}"] = distribution.mean
    return values | _regrets(result, chosen)


def gate_values(comparison: Comparison, verdict: Verdict | None) -> dict[str, float]:
    """``change`` of the composite against the baseline, and ``gate_passed``, 1 or 0."""
    values = {}
    if comparison.overall is not None:
        values["change"] = comparison.overall.change
    if verdict is not None:
        values["gate_passed"] = float(verdict.status == "PASS")
    return values


def _powers_of_two(last: int) -> list[int]:
    powers = [2**exponent for exponent in range(last.bit_length())]
    return [*powers, last]


def _regrets(result: SuiteResult, horizons: set[int]) -> dict[str, float]:
    values = {}
    for name in _REGRETS:
        columns = [
            outcome.prefix_details[name]
            for episode in result.episodes
            if (outcome := episode.metrics.get(_LOG_LOSS)) is not None
            and name in outcome.prefix_details
        ]
        finals = [column[-1] for column in columns if column and column[-1] is not None]
        if finals:
            values[name] = fmean(finals)
        for horizon in sorted(horizons):
            reached = [c[horizon - 1] for c in columns if 0 < horizon <= len(c)]
            present = [value for value in reached if value is not None]
            if present:
                values[f"{name}/horizon_{horizon}"] = fmean(present)
    return values
