"""Where a checkpoint is worse than copying the last context frame.

Judged by the median episode, because the mean of a skill (1 - error / error of copying) is ruled
by episodes in which almost nothing moves. Saved predictions are compressed again, which alone
lowers the skill of a true copy by up to 0.0024 (H.264, ten Bridge episodes); so within
:data:`LEVEL` of 0 a checkpoint counts as level with copying.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.numbers import signed_quantity

SKILL = "skill_persistence"
DYNAMIC_SKILL = "skill_persistence_dynamic"
LEVEL = 0.005
"""Skill around 0 that coding noise can make."""

RULE = (
    "Worse than copying at a horizon: the median episode's skill at that single step is below "
    f"{-LEVEL:g}; within {LEVEL:g} of 0 counts as level."
)

_NAMES = {SKILL: "whole frame", DYNAMIC_SKILL: "moving region"}


def worse_than_copying(result: SuiteResult, metric: str = SKILL) -> tuple[int, ...]:
    """Horizons whose step skill is worse than a copy's in the median episode."""
    return tuple(
        summary.horizon
        for summary in result.summary.horizons
        if metric in summary.step and is_worse(summary.step[metric].median)
    )


def is_worse(skill: float) -> bool:
    """Whether a skill is below 0 by more than coding noise."""
    return skill < -LEVEL


class SkillSentence(NamedTuple):
    """A plain sentence; ``is_warning`` when it says that copying is better."""

    text: str
    is_warning: bool


def skill_sentences(result: SuiteResult) -> list[SkillSentence]:
    """What is known of each measured skill; empty when none was measured."""
    return [
        sentence
        for metric, region in _NAMES.items()
        if metric in result.summary.metrics
        for sentence in _sentences(result, metric, region)
    ]


def _sentences(result: SuiteResult, metric: str, region: str) -> Iterator[SkillSentence]:
    summary = result.summary.metrics[metric]
    if summary.distribution is None:
        reason = next((item.reason for item in summary.unavailable if item.reason), "no reason")
        text = f"Skill against copying the last frame ({region}) is not known: {reason}"
        if result.num_context == 0:
            text += " (no context frame: was --skip-context forgotten?)"
        yield SkillSentence(text, is_warning=False)
        return
    values = [
        outcome.value
        for episode in result.episodes
        if (outcome := episode.metrics.get(metric)) is not None and outcome.value is not None
    ]
    losing = sum(map(is_worse, values))
    median = summary.distribution.median
    worse = is_worse(median)
    verdict = "worse than" if worse else "better than" if median > LEVEL else "level with"
    yield SkillSentence(
        f"Over all steps ({region}): {verdict} copying the last frame, skill "
        f"{signed_quantity(median, 'skill')} in the median episode, "
        f"worse in {losing} of {len(values)} episodes.",
        is_warning=worse,
    )
    if any(metric in horizon.step for horizon in result.summary.horizons):
        horizons = worse_than_copying(result, metric)
        spans = ", ".join(label_spans(horizons))
        where = f" at {spans} (median step skill < {-LEVEL:g})" if horizons else ": at no horizon"
        yield SkillSentence(
            f"Worse than copying the last frame ({region}){where}, each step judged alone"
            f"{_reach(result, horizons)}.",
            is_warning=bool(horizons),
        )


def _reach(result: SuiteResult, horizons: Sequence[int]) -> str:
    """How many episodes are as long as the last horizon, where some are not."""
    lengths = [episode.num_steps for episode in result.episodes if episode.failure is None]
    reaching = sum(length >= horizons[-1] for length in lengths) if horizons else len(lengths)
    if reaching == len(lengths):
        return ""
    return f" ({reaching} of {len(lengths)} episodes reach {horizon_label(horizons[-1])})"


def label_spans(horizons: Sequence[int]) -> Iterator[str]:
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
