"""Aggregates over a suite's episodes, by worldbench's rules.

Each metric is summarised over the episodes that have it, with the count beside it. The suite's
composite is the mean of the episodes' composites for a batch. In an evaluation of a dataset a
metric counts only when every episode has it, and the composite is taken over the metrics' means.
Failed episodes enter nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from wbgpu.aggregate.composite import composite
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeResult, ResultType, unavailable_episodes
from wbgpu.records.summary import (
    Coverage,
    Distribution,
    HorizonSummary,
    MetricSummary,
    SuiteSummary,
    missing_status,
)

NUM_WORST_EPISODES = 5
MAX_REASONS = 5
NEVER_AVAILABLE = "Metric was unavailable for every episode."
NOT_EVERYWHERE = "Unsupported metric for one or more episodes."


def summarize(
    episodes: Sequence[EpisodeResult],
    *,
    enabled_metrics: Sequence[str],
    configured_weights: Mapping[str, float],
    result_type: ResultType = "batch_evaluation",
) -> SuiteSummary:
    """Summarise episodes.

    Args:
        episodes: all of them; failed ones are left out of every number.
        enabled_metrics: the composite's metrics in configured order.
        configured_weights: their weights.
        result_type: chooses between worldbench's two rules (module docstring).
    """
    scored = [episode for episode in episodes if episode.failure is None]
    names = sorted({name for episode in scored for name in episode.metrics})
    values = [
        [v for e in scored if name in e.metrics and (v := e.metrics[name].value) is not None]
        for name in names
    ]
    metrics = {
        name: _summarize_metric(name, scored, found, result_type)
        for name, found in zip(names, Distribution.of_each(values), strict=True)
    }
    available = [name for name, summary in metrics.items() if summary.status == "available"]
    scores = {e.episode_id: e.score for e in scored if e.score is not None}
    overall = Distribution.of(list(scores.values()))
    return SuiteSummary(
        overall=overall,
        metrics=metrics,
        horizons=_summarize_horizons(scored),
        coverage=Coverage.of(enabled_metrics, configured_weights, available),
        worst_episodes=tuple(
            sorted(scores.items(), key=lambda item: (item[1], item[0]))[:NUM_WORST_EPISODES]
        ),
        score=_suite_score(result_type, overall, metrics, enabled_metrics, configured_weights),
    )


def _suite_score(
    result_type: ResultType,
    overall: Distribution | None,
    metrics: Mapping[str, MetricSummary],
    enabled_metrics: Sequence[str],
    weights: Mapping[str, float],
) -> float | None:
    if result_type == "batch_evaluation":
        return None if overall is None else overall.mean
    means = {
        name: metrics[name].distribution.mean  # type: ignore[union-attr]
        for name in enabled_metrics
        if name in metrics and metrics[name].distribution is not None
    }
    return composite(means, weights)


def _summarize_metric(
    name: str,
    scored: Sequence[EpisodeResult],
    distribution: Distribution | None,
    result_type: ResultType,
) -> MetricSummary:
    num_values = 0 if distribution is None else distribution.count
    missing = unavailable_episodes(scored, name)
    complete = num_values > 0 and (result_type == "batch_evaluation" or not missing)
    reason = None
    if not complete:
        reason = NEVER_AVAILABLE
        if result_type == "evaluation":
            reason = next((item.reason for item in missing if item.reason), NOT_EVERYWHERE)
    return MetricSummary(
        status="available" if complete else missing_status(missing, num_values),
        distribution=distribution if complete else None,
        available_count=num_values,
        total_count=len(scored),
        error_count=sum(e.metrics[name].status == "error" for e in scored if name in e.metrics),
        reason=reason,
        unavailable=missing,
    )


def _summarize_horizons(scored: Sequence[EpisodeResult]) -> tuple[HorizonSummary, ...]:
    longest = max((episode.num_steps for episode in scored), default=0)
    by_name = {
        name: [(e.num_steps, e.metrics[name]) for e in scored if name in e.metrics]
        for name in sorted({name for episode in scored for name in episode.metrics})
    }
    prefix = _distributions(
        {name: [outcome.prefix for _, outcome in found] for name, found in by_name.items()}, longest
    )
    step = _distributions(
        {name: [outcome.step for _, outcome in found] for name, found in by_name.items()}, longest
    )
    unavailable: list[dict[str, tuple[int, tuple[str, ...]]]] = [{} for _ in range(longest)]
    for name, found in by_name.items():
        for horizon, reasons in _lacking(found).items():
            unavailable[horizon - 1][name] = (len(reasons), _distinct(reasons))
    return tuple(
        HorizonSummary(
            horizon=horizon,
            sample_count=sum(episode.num_steps >= horizon for episode in scored),
            prefix=prefix[horizon - 1],
            step=step[horizon - 1],
            unavailable=unavailable[horizon - 1],
        )
        for horizon in range(1, longest + 1)
    )


def _distributions(
    rows: Mapping[str, Sequence[Sequence[float | None]]], num_horizons: int
) -> list[dict[str, Distribution]]:
    """By horizon and metric, of the values there; ``rows`` are a metric's episodes."""
    columns = {name: list(zip_longest(*of_metric)) for name, of_metric in rows.items()}
    places = [
        (index, name)
        for index in range(num_horizons)
        for name, column in columns.items()
        if index < len(column)
    ]
    samples = [
        [value for value in columns[name][index] if value is not None] for index, name in places
    ]
    tables: list[dict[str, Distribution]] = [{} for _ in range(num_horizons)]
    for (index, name), found in zip(places, Distribution.of_each(samples), strict=True):
        if found is not None:
            tables[index][name] = found
    return tables


def _lacking(outcomes: Iterable[tuple[int, MetricOutcome]]) -> dict[int, list[str | None]]:
    """By horizon, the reason of each episode that lacks a value there; with the episodes' steps."""
    lacking: dict[int, list[str | None]] = {}
    for num_steps, outcome in outcomes:
        for horizon, reason in outcome.lacking_prefixes(num_steps).items():
            lacking.setdefault(horizon, []).append(reason)
    return lacking


def _distinct(reasons: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for reason in reasons if reason))[:MAX_REASONS]
