"""Broken rules in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wbgpu.records.comparison import Failure
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.distances import DISTANCE_KINDS, distance_failure_line
from wbgpu.report.evidence_lines import MARGIN_KINDS, margin_failure_line
from wbgpu.report.numbers import change, score, setting
from wbgpu.report.regret_failures import regret_failure_line
from wbgpu.report.skill import label_spans

_MAX_SPANS = 3

_TITLES = {
    "overall": "Composite Score",
    "composite_improvement": "Composite Score improvement",
}


def failure_line(failure: Failure) -> str:
    """Such as ``Metric temporal_stability: 97.52 -> 94.64 (-2.88); threshold 0``."""
    if failure.kind in MARGIN_KINDS:
        return margin_failure_line(failure)
    if failure.kind in DISTANCE_KINDS:
        return distance_failure_line(failure)
    if failure.kind == "infinite_loss":
        return regret_failure_line(failure)
    evidence = failure.evidence
    title = _TITLES.get(failure.kind, failure.kind.replace("_", " ").title())
    if "horizon" in evidence:
        title += f" {horizon_label(evidence['horizon'])}"
    if "metric" in evidence:
        title += f" {evidence['metric']}"
    if "change" in evidence:
        limit = evidence.get("allowed_drop", evidence.get("required_improvement"))
        return (
            f"{title}: {score(evidence['baseline'])} -> {score(evidence['candidate'])} "
            f"({change(evidence['change'])}); threshold {setting(limit)}"
        )
    return f"{title}: {_explanation(failure)}"


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """One line for each broken rule; a metric's horizons share one, which states the worst.

    A drop of the composite breaks a rule of its own and that of its least improvement; where this
    asks for no more than no drop, it says nothing new.
    """
    lines: dict[str, list[Failure]] = {}
    has_dropped = any(failure.kind == "overall" for failure in failures)
    for failure in failures:
        if (
            has_dropped
            and failure.kind == "composite_improvement"
            and failure.evidence["required_improvement"] <= 0
        ):
            continue
        horizon = failure.kind == "horizon"
        key = f"horizon {failure.evidence['metric']}" if horizon else failure_line(failure)
        lines.setdefault(key, []).append(failure)
    return [
        _horizons_line(group) if group[0].kind == "horizon" else line
        for line, group in lines.items()
    ]


def regret_failure_lines(failures: Sequence[Failure]) -> list[str]:
    """One line for each broken rule of a gate on regret."""
    return [
        margin_failure_line(f) if f.kind in MARGIN_KINDS else regret_failure_line(f)
        for f in failures
    ]


def _horizons_line(group: Sequence[Failure]) -> str:
    if len(group) == 1:
        return failure_line(group[0])
    worst = min(group, key=lambda failure: failure.evidence["change"])
    horizons = sorted(failure.evidence["horizon"] for failure in group)
    spans = list(label_spans(horizons))
    where = f"at {', '.join(spans)}"
    if len(spans) > _MAX_SPANS:
        where = f"between {horizon_label(horizons[0])} and {horizon_label(horizons[-1])}"
    return f"{failure_line(worst)}; largest of {len(group)} drops, {where}"


def _explanation(failure: Failure) -> str:
    evidence = failure.evidence
    if "actual" in evidence:
        at_most = "allowed" in evidence
        limit = evidence["allowed"] if at_most else evidence["minimum"]
        return (
            f"{_number(evidence['actual'])}; {'at most' if at_most else 'at least'} "
            f"{setting(limit)} required"
        )
    if failure.kind == "episode_error":
        return f"not scored in the {evidence['result']}: {_listed(evidence['episodes'])}"
    if failure.kind == "metric_error":
        return (
            f"{_listed(evidence['metrics'])} in the {evidence['result']} on: "
            f"{_listed(evidence['episodes'])}"
        )
    if failure.kind == "no_score" and "results" in evidence:
        return f"no composite at all in the {' and the '.join(evidence['results'])}"
    if failure.kind == "no_score":
        return f"no composite in the {evidence['result']} alone: {_listed(evidence['episodes'])}"
    return _listed(evidence.get("metrics") or evidence.get("details") or ())


def _number(value: float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _listed(items: Iterable[str]) -> str:
    return "; ".join(items)
