"""Plain console text: one fact a line, no wrapping, no colour, the same on every terminal."""

from __future__ import annotations

from collections.abc import Sequence

from wbgpu.records.comparison import UNCHANGED_TOLERANCE, Comparison, Verdict
from wbgpu.records.suite import SuiteResult
from wbgpu.records.summary import Coverage, MetricSummary
from wbgpu.report.distances import TITLE, distance_change_lines, distance_lines
from wbgpu.report.failures import failure_lines
from wbgpu.report.model_inputs import actions_note
from wbgpu.report.numbers import (
    ABSENT,
    bits_note,
    change,
    percent,
    quantity,
    score,
    setting,
    signed_quantity,
)
from wbgpu.report.sides import (
    differing_settings,
    effect_line,
    episodes_note,
    thresholds_line,
    ungated_line,
)
from wbgpu.report.skill import skill_sentences
from wbgpu.report.text import one_line

_MAX_REASONS = 3


def result_summary(result: SuiteResult) -> str:
    """The lines that an evaluation prints."""
    summary = result.summary
    lines = [*result.notes, f"Checkpoint: {result.checkpoint_name}"]
    num_failed = len(result.failed_episodes)
    failed = f" ({num_failed} of {len(result.episodes)} failed)" if num_failed else ""
    lines.append(f"Episodes evaluated: {len(result.episodes) - num_failed}{failed}")
    if result.result_type == "evaluation" or summary.overall is None:
        lines.append(f"Composite Score: {score(summary.score)}")
    else:
        overall = summary.overall
        lines += [
            f"Composite Score mean: {score(overall.mean)}",
            f"Composite Score median: {score(overall.median)}",
            f"Standard deviation: {score(overall.std)}",
            f"Minimum: {score(overall.min)}",
            f"Maximum: {score(overall.max)}",
        ]
    lines += _coverage(summary.coverage, " configured metrics")
    lines += [sentence.text for sentence in skill_sentences(result)]
    lines += ["", "Metric Aggregates:"]
    width = max((len(name) for name in summary.metrics), default=0)
    for name in result.measured_metrics:
        lines.append(f"{name:<{width}}  {_metric(result, name, summary.metrics[name])}")
    lines += _titled(TITLE, distance_lines(result))
    if result.result_type == "batch_evaluation" and summary.worst_episodes:
        lines += ["", "Worst episodes:"]
        lines += [f"  {episode_id}: {score(s)}" for episode_id, s in summary.worst_episodes]
    if num_failed:
        lines += ["", "Failed episodes:"]
        lines += [
            f"  {e.episode_id}: {e.failure.error_type}: {e.failure.message}"
            for e in result.failed_episodes
            if e.failure is not None
        ]
    warnings = _warnings(result)
    return _text([*lines, *(["", "Warnings:", *warnings] if warnings else [])])


def _warnings(result: SuiteResult) -> list[str]:
    """Each once, with the first of the episodes that it is about."""
    about: dict[str, list[str]] = {}
    for episode in result.episodes:
        for text in episode.warnings:
            about.setdefault(text, []).append(episode.episode_id)
    return [
        f"  {ids[0]}{f' and {len(ids) - 1} more' if len(ids) > 1 else ''}: {text}"
        for text, ids in about.items()
    ]


def verdict_summary(verdict: Verdict) -> str:
    """The lines that a gate prints; the first is ``PASS`` or ``FAIL``."""
    comparison = verdict.comparison
    baseline, candidate = comparison.baseline, comparison.candidate
    ungated = ungated_line(comparison)
    lines = [verdict.status, *([] if ungated is None else [ungated]), ""]
    lines += [f"Baseline:  {baseline.checkpoint_name}", f"Candidate: {candidate.checkpoint_name}"]
    if (note := actions_note(baseline, candidate)) is not None:
        lines.append(note)
    lines += ["", "Composite Score:"]
    lines.append(f"{score(baseline.summary.score)} -> {score(candidate.summary.score)}")
    overall = comparison.overall
    over = _in_brackets(episodes_note(comparison))
    lines.append(f"Change: {ABSENT if overall is None else change(overall.change) + over}")
    if verdict.interval is not None:
        interval = verdict.interval
        lines.append(
            f"Interval of the change ({setting(100 * interval.level)}%): "
            f"{change(interval.lower)} to {change(interval.upper)} "
            f"({interval.num_samples} bootstrap samples, {interval.num_episodes} episodes)"
        )
    if (effect := effect_line(comparison)) is not None:
        lines.append(effect)
    lines += _coverage(candidate.summary.coverage, "")
    for side, result in (("Baseline", baseline), ("Candidate", candidate)):
        lines += [f"{side}: {sentence.text}" for sentence in skill_sentences(result)]
    if verdict.failures:
        lines += ["", "Regression detected:", *failure_lines(verdict.failures)]
    else:
        lines += ["", "No configured regression threshold was exceeded."]
    if comparison.mismatches:
        lines += differing_settings(comparison)
    lines += ["", thresholds_line(verdict, UNCHANGED_TOLERANCE)]
    if verdict.all_warnings:
        lines += ["", "Warnings:", *(f"- {warning}" for warning in verdict.all_warnings)]
    lines += _other_metrics(comparison)
    lines += _titled(TITLE, distance_change_lines(verdict))
    lines += [
        "",
        "Episodes:",
        f"Improved:   {len(comparison.improved)}",
        f"Regressed:  {len(comparison.regressed)}",
        f"Unchanged:  {comparison.num_unchanged}",
    ]
    if comparison.worst_changes:
        lines += ["", "Worst episodes:"]
        lines += [f"{c.episode_id}    {change(c.change)}" for c in comparison.worst_changes]
    return _text(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(map(one_line, lines))


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *lines] if lines else []


def _in_brackets(note: str) -> str:
    return f" ({note})" if note else ""


def _coverage(coverage: Coverage, tail: str) -> list[str]:
    return [
        f"Metric coverage: {len(coverage.available_metrics)} of "
        f"{len(coverage.configured_metrics)}{tail}",
        f"Configured weight coverage: {percent(coverage.configured_weight_coverage)}",
    ]


def _metric(result: SuiteResult, name: str, metric: MetricSummary) -> str:
    counts = f"{metric.available_count}/{metric.total_count}"
    if metric.distribution is None:
        reasons = [*dict.fromkeys(item.reason for item in metric.unavailable if item.reason)]
        # Some hold numbers of the episode; the report has all of them.
        more = len(reasons) - _MAX_REASONS
        shown = "; ".join([*reasons[:_MAX_REASONS], *([f"and {more} more"] if more > 0 else [])])
        return f"{ABSENT}  {counts}  {shown or metric.reason}"
    info = result.metric_infos[name]
    direction = "" if info.higher_is_better else "  lower is better"
    mean = metric.distribution.mean
    value = f"{quantity(mean, info.unit)} {info.unit}{bits_note(mean, info.unit)}"
    return f"mean {value}  {counts}{direction}"


def _other_metrics(comparison: Comparison) -> list[str]:
    infos = comparison.candidate.metric_infos
    rows = [
        f"{c.metric}: mean {quantity(c.baseline, infos[c.metric].unit)} -> "
        f"{quantity(c.candidate, infos[c.metric].unit)} {infos[c.metric].unit} "
        f"({signed_quantity(c.change, infos[c.metric].unit)}, "
        f"{'higher' if infos[c.metric].higher_is_better else 'lower'} is better)"
        f"{_in_brackets(episodes_note(comparison, c.metric))}"
        for c in comparison.other_metrics
    ]
    return _titled("Other metrics (not gated)", rows)
