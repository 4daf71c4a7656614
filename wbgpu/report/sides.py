"""What a reader must know of two sides before trusting a change between them."""

from __future__ import annotations

from collections.abc import Collection

from wbgpu.records.comparison import Comparison, MetricChange, Verdict
from wbgpu.records.metric import MetricInfo
from wbgpu.records.suite import SuiteResult
from wbgpu.report.numbers import score, setting
from wbgpu.report.skill import DYNAMIC_SKILL, LEVEL, SKILL

_TRIVIAL_SHARE = 0.01
"""Changes of metrics outside the composite below this share of the baseline are not named."""


def direction_of(difference: float, higher_is_better: bool) -> str:
    """``better``, ``worse`` or ``same``."""
    if difference == 0:
        return "same"
    return "better" if (difference > 0) == higher_is_better else "worse"


def ungated_line(comparison: Comparison, watched: Collection[str] = ()) -> str | None:
    """Metrics that no threshold watches and that got worse by more than a trivial amount.

    Args:
        comparison: of two results.
        watched: metrics outside the composite that have a limit of their own.
    """
    infos = comparison.candidate.metric_infos
    worse = [
        c.metric
        for c in comparison.other_metrics
        if c.metric not in watched and _is_worse(c, infos[c.metric])
    ]
    if not worse:
        return None
    return (
        f"Not gated and worse: {', '.join(worse)} "
        f"(by more than {_TRIVIAL_SHARE:.0%}, a skill by more than {LEVEL:g})"
    )


def episodes_note(comparison: Comparison, metric: str | None = None) -> str:
    """Which episodes a change is over when they are not the same ones on both sides.

    Args:
        comparison: of two results.
        metric: its name, or ``None`` for the composite.

    Returns:
        Such as ``over 10 and 6 episodes``; empty when both sides are over the same.
    """
    before, after = (_with_value(r, metric) for r in (comparison.baseline, comparison.candidate))
    if before == after:
        return ""
    if len(before) == len(after):
        return f"over {len(before)} episodes each, not the same ones"
    return f"over {len(before)} and {len(after)} episodes"


def effect_line(comparison: Comparison) -> str | None:
    """How small a change these episodes can show."""
    effect = comparison.minimum_detectable_effect
    if effect is None:
        return None
    return (
        f"Minimum detectable effect of these {len(comparison.episodes)} episodes: "
        f"{score(effect)} points (Student-t interval, 5 % two-sided, 80 % power)"
    )


def thresholds_line(verdict: Verdict, tolerance: float) -> str:
    """The allowed drops, and the drop that is none."""
    limits = ", ".join(
        f"{name} {setting(verdict.thresholds[name])}"
        for name in ("max_overall_drop", "max_metric_drop", "max_horizon_drop")
    )
    return f"Thresholds: {limits}; {tolerance_text(tolerance)}"


def tolerance_text(tolerance: float) -> str:
    """What counts as no drop at all."""
    return f"drops up to {tolerance:g} count as unchanged (it is added to each threshold)"


def differing_settings(comparison: Comparison) -> list[str]:
    """The composite's metrics and weights that differ, by name."""
    before, after = comparison.baseline, comparison.candidate
    lines = []
    for side, ours, theirs in (("baseline", before, after), ("candidate", after, before)):
        if names := [n for n in ours.enabled_metrics if n not in theirs.enabled_metrics]:
            lines.append(f"Enabled in the {side} only: {', '.join(names)}")
    weights = [
        f"{name} {setting(weight)} and {setting(after.configured_weights[name])}"
        for name, weight in before.configured_weights.items()
        if after.configured_weights.get(name, weight) != weight
    ]
    return lines + ([f"Weights differ: {', '.join(weights)}"] if weights else [])


def _is_worse(change: MetricChange, info: MetricInfo) -> bool:
    if direction_of(change.change, info.higher_is_better) != "worse":
        return False
    is_skill = change.metric in (SKILL, DYNAMIC_SKILL)
    trivial = LEVEL if is_skill else _TRIVIAL_SHARE * abs(change.baseline)
    return abs(change.change) > trivial


def _with_value(result: SuiteResult, metric: str | None) -> set[str]:
    if metric is None:
        return {e.episode_id for e in result.episodes if e.score is not None}
    return {
        e.episode_id
        for e in result.episodes
        if (outcome := e.metrics.get(metric)) is not None and outcome.is_available
    }
