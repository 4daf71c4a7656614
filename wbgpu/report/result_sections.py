"""Sections of a result's report."""

from __future__ import annotations

from wbgpu.records.suite import SuiteResult
from wbgpu.report.model_inputs import actions_note
from wbgpu.report.numbers import ABSENT, change, percent, quantity, score, signed_quantity
from wbgpu.report.sides import direction_of
from wbgpu.report.skill import RULE, skill_sentences
from wbgpu.report.suite_rows import (
    METRIC_HEADER,
    counts_copies,
    horizon_table,
    metric_reasons,
    metric_rows,
    worst_rows,
)
from wbgpu.report.tables import escape, escaped, table


def headline(result: SuiteResult) -> list[str]:
    """Composite, coverage and skill."""
    summary = result.summary
    num_failed = len(result.failed_episodes)
    spread = summary.overall
    lines = [f"- **Composite score: {score(summary.score)}** of 100"]
    if spread is not None and spread.count > 1:
        lines[0] += (
            f" (median {score(spread.median)}, standard deviation {score(spread.std)}, "
            f"{score(spread.min)} to {score(spread.max)})"
        )
    lines += skill_lines(result)
    lines.append(
        f"- Episodes: {len(result.episodes) - num_failed} scored"
        + (f", **{num_failed} failed**" if num_failed else "")
    )
    return [*lines, *coverage_lines(result), ""]


def skill_lines(result: SuiteResult, who: str = "") -> list[str]:
    """How it compares with copying the last frame; bold where copying is better."""
    return [
        f"- **{who}{escape(sentence.text)}**"
        if sentence.is_warning
        else f"- {who}{escape(sentence.text)}"
        for sentence in skill_sentences(result)
    ]


def coverage_lines(result: SuiteResult) -> list[str]:
    """How much of the composite was measured."""
    coverage = result.summary.coverage
    lines = [
        f"- Metric coverage: {len(coverage.available_metrics)} of "
        f"{len(coverage.configured_metrics)} configured metrics",
        f"- Configured weight coverage: {percent(coverage.configured_weight_coverage)}",
    ]
    if coverage.unsupported_metrics:
        lines.append(f"- Not in the composite: {escape(', '.join(coverage.unsupported_metrics))}")
    return lines


def failed_section(result: SuiteResult) -> list[str]:
    """Episodes without scores."""
    rows = [
        [escape(e.episode_id), escape(f"{e.failure.error_type}: {e.failure.message}")]
        for e in result.failed_episodes
        if e.failure is not None
    ]
    if not rows:
        return []
    return ["## Failed episodes", "", *table("ll", ["Episode", "Cause"], rows)]


def metric_section(result: SuiteResult) -> list[str]:
    """Every metric over the suite."""
    lines = ["## Metrics", "", *table("lllrrrr", METRIC_HEADER, escaped(metric_rows(result)))]
    reasons = [f"- {escape(line)}" for line in metric_reasons(result)]
    return lines + ([*reasons, ""] if reasons else [])


def horizon_section(result: SuiteResult) -> list[str]:
    """The main metrics at every horizon: over the steps up to it, and at that step alone."""
    header, rows = horizon_table(result)
    if not header:
        return []
    return [
        "## Horizons",
        "",
        "Mean over episodes, of a skill the median; *prefix*: over all steps up to the horizon, "
        "*step*: at that step alone.",
        "",
        *table("l" + "r" * (len(header) - 1), list(map(escape, header)), escaped(rows)),
        *([RULE, ""] if counts_copies(result) else []),
    ]


def worst_section(result: SuiteResult) -> list[str]:
    """The lowest episodes, and what pulls them down."""
    if len(result.episodes) < 2:
        return []
    header = ["Episode", "Score", "Weakest metric"]
    return ["## Worst episodes", "", *table("lrl", header, escaped(worst_rows(result)))]


def baseline_section(result: SuiteResult, baseline: SuiteResult) -> list[str]:
    """Changes against another result."""
    title = f"## Change against {escape(baseline.checkpoint_name)}"
    if {e.episode_id for e in result.episodes} != {e.episode_id for e in baseline.episodes}:
        return [title, "", "The two results are of different episodes, so no change is shown.", ""]
    contexts = baseline.num_context, result.num_context
    if contexts[0] != contexts[1]:
        reason = f"after {contexts[0]} and after {contexts[1]} context frames"
        return [title, "", f"The two were scored {reason}, so no change is shown.", ""]
    datasets = baseline.dataset_identifier, result.dataset_identifier
    if all(datasets) and datasets[0] != datasets[1]:
        return [title, "", "The two have other ground truth, so no change is shown.", ""]
    rows = []
    before, after = baseline.summary.score, result.summary.score
    redefined = _redefined(result, baseline)
    composite = not set(redefined) & set(result.enabled_metrics)
    if composite and before is not None and after is not None:
        moved = after - before
        direction = direction_of(moved, higher_is_better=True)
        rows.append(["composite", score(before), score(after), change(moved), direction])
    for name in result.measured_metrics:
        theirs = baseline.summary.metrics.get(name)
        rows += [] if theirs is None else _metric_change(result, baseline, name)
    notes = [
        "A change is no verdict: `wbgpu gate --baseline FILE --candidate FILE` gives one, and a "
        "report as a page (`--output FILE.html`) starts with it.",
        "",
    ]
    if (given := actions_note(baseline, result)) is not None:
        notes += [escape(given), ""]
    if redefined:
        names = escape(", ".join(redefined)) + ("" if composite else ", and so the composite")
        notes += [f"**Defined otherwise in the two, so no change is shown: {names}.**", ""]
    header = ["Metric", "Baseline", "This", "Change", "Direction"]
    return [title, "", *notes, *table("lrrrl", header, rows)]


def _redefined(result: SuiteResult, baseline: SuiteResult) -> list[str]:
    """Metrics of one name and two definitions."""
    ours, theirs = result.metric_infos, baseline.metric_infos
    return [n for n in ours if n in theirs and ours[n].metric_id != theirs[n].metric_id]


def _metric_change(result: SuiteResult, baseline: SuiteResult, name: str) -> list[list[str]]:
    ours = result.summary.metrics[name].distribution
    theirs = baseline.summary.metrics[name].distribution
    info, other = result.metric_infos[name], baseline.metric_infos[name]
    if ours is None or theirs is None:
        return []
    if info.metric_id != other.metric_id:
        return [[escape(name), ABSENT, ABSENT, ABSENT, f"defined otherwise: {other.metric_id}"]]
    difference = ours.mean - theirs.mean
    return [
        [
            escape(name),
            quantity(theirs.mean, info.unit),
            quantity(ours.mean, info.unit),
            signed_quantity(difference, info.unit),
            direction_of(difference, info.higher_is_better),
        ]
    ]
