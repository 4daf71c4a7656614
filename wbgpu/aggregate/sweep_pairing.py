"""Which jobs of a sweep can be compared, and their values by episode."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wbgpu.aggregate.comparison import compare
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.errors import IncompatibleResultsError
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.regret import REGRET_UNIT, RegretResult
from wbgpu.records.suite import SuiteResult
from wbgpu.records.sweep import AnyResult, LeftOut, SweepEntry

COMPOSITE = "composite"
REGRET_METRICS = ("expected_regret", "regret")


def metrics_of(result: AnyResult) -> tuple[str, ...]:
    """By what a result can be ranked; the first is the default."""
    if isinstance(result, RegretResult):
        return REGRET_METRICS
    return (COMPOSITE, *result.measured_metrics)


def unit_of(result: AnyResult, metric: str) -> tuple[str, bool]:
    """Unit of a metric, and whether higher is better."""
    if isinstance(result, RegretResult):
        return REGRET_UNIT, False
    if metric == COMPOSITE:
        return SCORE_UNIT, True
    info = result.metric_infos[metric]
    return info.unit, info.higher_is_better


def values_of(result: AnyResult, metric: str) -> dict[str, float]:
    """Values by episode id (or seed), of the episodes that have a finite one."""
    if isinstance(result, RegretResult):
        attribute = {"expected_regret": "expected_regret_nats", "regret": "cumulative_regret_nats"}
        if metric not in attribute:
            return {}
        values = {
            str(episode.seed): getattr(episode.totals, attribute[metric]) / result.num_steps
            for episode in result.episodes
        }
        return {seed: value for seed, value in values.items() if math.isfinite(value)}
    if metric == COMPOSITE:
        return {e.episode_id: e.score for e in result.episodes if e.score is not None}
    outcomes = {e.episode_id: e.metrics.get(metric) for e in result.episodes}
    return {
        episode_id: outcome.value
        for episode_id, outcome in outcomes.items()
        if outcome is not None and outcome.value is not None
    }


def comparable(
    entries: Sequence[SweepEntry], metric: str, first: int | None = None
) -> tuple[list[SweepEntry], list[LeftOut]]:
    """The largest group of jobs that can be compared with each other, and the rest with reasons.

    Args:
        entries: at least one.
        metric: by which they will be.
        first: number of the job whose group is taken instead of the largest.
    """
    groups: list[list[SweepEntry]] = []
    for entry in entries:
        home = next(
            (g for g in groups if obstacle(g[0].result, entry.result, metric) is None), None
        )
        if home is None:
            groups.append([entry])
        else:
            home.append(entry)
    # The first of equally large ones.
    chosen = max(groups, key=len)
    for group in groups:
        if first is not None and first in {entry.job for entry in group}:
            chosen = group
    head = chosen[0]
    left_out = [
        LeftOut(
            entry.job,
            entry.label,
            entry.folder,
            "done",
            f"not comparable with job {head.job}: {obstacle(head.result, entry.result, metric)}",
        )
        for group in groups
        if group is not chosen
        for entry in group
    ]
    return chosen, left_out


def obstacle(reference: AnyResult, candidate: AnyResult, metric: str) -> str | None:
    """Why a metric of two results must not be compared; ``None`` where it may be."""
    try:
        if isinstance(reference, RegretResult) and isinstance(candidate, RegretResult):
            compare_regret(reference, candidate)
            return None
        if isinstance(reference, RegretResult) or isinstance(candidate, RegretResult):
            return "one result is of videos and the other of regret"
        compare(reference, candidate)
    except IncompatibleResultsError as error:
        return str(error)
    return _other_protocol(reference, candidate) or _other_numbers(reference, candidate, metric)


def _other_protocol(reference: SuiteResult, candidate: SuiteResult) -> str | None:
    if reference.protocol is None or candidate.protocol is None:
        return None
    for key in ("alignment_policy", "resize_policy", "whole_predictions"):
        values = (getattr(reference.protocol, key), getattr(candidate.protocol, key))
        if values[0] != values[1]:
            return f"protocols differ in {key}: {values[0]} and {values[1]}"
    return None


def _other_numbers(reference: SuiteResult, candidate: SuiteResult, metric: str) -> str | None:
    if metric == COMPOSITE:
        for key in ("enabled_metrics", "configured_weights"):
            if getattr(reference, key) != getattr(candidate, key):
                return f"the composite is another one: {key.replace('_', ' ')} differ"
    steps = {e.episode_id: e.num_steps for e in reference.episodes if e.num_steps}
    for episode in candidate.episodes:
        ours = steps.get(episode.episode_id, episode.num_steps)
        if episode.num_steps and episode.num_steps != ours:
            return (
                f"episode {episode.episode_id!r} was scored over {ours} steps in one and "
                f"{episode.num_steps} in the other"
            )
    return None
