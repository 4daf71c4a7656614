"""Where a checkpoint is worse than copying the last context frame.

Judged by the median episode, because the mean of a skill (1 - error / error of copying) is ruled
by episodes in which almost nothing moves. Saved predictions are compressed again, which alone
lowers the skill of a true copy by up to 0.0024 (H.264, ten Bridge episodes); so within
:data:`LEVEL` of 0 a checkpoint counts as level with copying.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import horizon_label

SKILL = "skill_persistence"
DYNAMIC_SKILL = "skill_persistence_dynamic"
LEVEL = 0.005
"""Skill around 0 that coding noise can make."""

_NAMES = {SKILL: "whole frame", DYNAMIC_SKILL: "moving region"}


def worse_than_copying(result: SuiteResult, metric: str = SKILL) -> tuple[int, ...]:
    """Horizons whose step skill is below 0, by more than coding noise, in the median episode."""
    return tuple(
        summary.horizon
        for summary in result.summary.horizons
        if metric in summary.step and summary.step[metric].median < -LEVEL
    )


def skill_sentences(result: SuiteResult) -> list[str]:
    """Plain sentences on each measured skill; empty when none was measured."""
    return [
        sentence
        for metric, region in _NAMES.items()
        if metric in result.summary.metrics
        for sentence in _sentences(result, metric, region)
    ]


def _sentences(result: SuiteResult, metric: str, region: str) -> list[str]:
    summary = result.summary.metrics[metric]
    if summary.distribution is None:
        reason = next((item.reason for item in summary.unavailable if item.reason), "no reason")
        return [f"Skill against copying the last frame ({region}) is not known: {reason}"]
    values = [
        outcome.value
        for episode in result.episodes
        if (outcome := episode.metrics.get(metric)) is not None and outcome.value is not None
    ]
    losing = sum(value < 0 for value in values)
    median = summary.distribution.median
    verdict = "worse than" if median < -LEVEL else "better than" if median > LEVEL else "level with"
    overall = (
        f"Over all steps ({region}): {verdict} copying the last frame, median skill "
        f"{_signed(median)}, below 0 in {losing} of {len(values)} episodes."
    )
    if not any(metric in horizon.step for horizon in result.summary.horizons):
        return [overall]
    worse = worse_than_copying(result, metric)
    if not worse:
        return [overall, f"Worse than copying the last frame ({region}): at no horizon."]
    spans = ", ".join(label_spans(worse))
    return [overall, f"Worse than copying the last frame ({region}) at {spans} (skill < 0)."]


def label_spans(horizons: Sequence[int]) -> Iterable[str]:
    """``t+1 to t+3`` for 1, 2, 3; horizons must rise."""
    start = 0
    for index, horizon in enumerate(horizons):
        if index + 1 == len(horizons) or horizons[index + 1] != horizon + 1:
            first = horizons[start]
            same = first == horizon
            yield (
                horizon_label(first)
                if same
                else f"{horizon_label(first)} to {horizon_label(horizon)}"
            )
            start = index + 1


def _signed(value: float) -> str:
    return f"{value:+.2g}" if 0 < abs(value) < 0.005 else f"{round(value, 3) + 0.0:+.3f}"
