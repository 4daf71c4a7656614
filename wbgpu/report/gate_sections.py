"""Sections of a verdict's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wbgpu.records.comparison import UNCHANGED_TOLERANCE, Comparison, EpisodeChange, Verdict
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.failures import failure_lines
from wbgpu.report.model_inputs import actions_note
from wbgpu.report.numbers import (
    ABSENT,
    change,
    quantity,
    score,
    setting,
)
from wbgpu.report.result_sections import coverage_lines, failed_section, skill_lines
from wbgpu.report.sides import (
    differing_settings,
    effect_line,
    episodes_note,
    tolerance_text,
    ungated_line,
)
from wbgpu.report.suite_rows import CHANGE_ALIGN, CHANGE_HEADER, change_rows
from wbgpu.report.tables import escape, escaped, table


def gate_headline(verdict: Verdict) -> list[str]:
    """What changed, and how sure that is."""
    comparison = verdict.comparison
    before, after = comparison.baseline, comparison.candidate
    overall = comparison.overall
    moved = ABSENT if overall is None else change(overall.change)
    if note := episodes_note(comparison):
        moved += f", {note}"
    lines = [
        f"- {escape(before.checkpoint_name)} -> {escape(after.checkpoint_name)}",
        *([] if (given := actions_note(before, after)) is None else [f"- {escape(given)}"]),
        f"- **Composite score: {score(before.summary.score)} -> {score(after.summary.score)} "
        f"({moved})**",
        *([] if (ungated := ungated_line(comparison)) is None else [f"- **{escape(ungated)}**"]),
        f"- Episodes: {len(comparison.improved)} improved, {len(comparison.regressed)} regressed, "
        f"{comparison.num_unchanged} unchanged",
    ]
    if verdict.interval is not None:
        interval = verdict.interval
        lines.append(
            f"- {setting(100 * interval.level)} % interval of the change: "
            f"{change(interval.lower)} to {change(interval.upper)} ({interval.method}, "
            f"{interval.num_samples} samples, seed {interval.seed})"
        )
    if (effect := effect_line(comparison)) is not None:
        lines.append(f"- {effect}")
    lines += coverage_lines(after)
    for side, result in (("Baseline", before), ("Candidate", after)):
        lines += skill_lines(result, f"{side}: ")
    return [*lines, ""]


def gate_reasons(verdict: Verdict) -> list[str]:
    """Broken rules, warnings and failed episodes."""
    lines = ["## Regression detected" if verdict.failures else "## No threshold exceeded", ""]
    lines += [f"- {escape(line)}" for line in failure_lines(verdict.failures)]
    if not verdict.failures:
        lines.append("No configured regression threshold was exceeded.")
    if verdict.comparison.mismatches:
        lines += [f"- {escape(line)}" for line in differing_settings(verdict.comparison)]
    lines.append("")
    if verdict.all_warnings:
        lines += ["## Warnings", "", *(f"- {escape(w)}" for w in verdict.all_warnings), ""]
    for result in (verdict.comparison.baseline, verdict.comparison.candidate):
        if failed := failed_section(result):
            lines += [f"{failed[0]} of {escape(result.checkpoint_name)}", *failed[1:]]
    return lines


def gate_metrics(comparison: Comparison) -> list[str]:
    """Changes of all metrics, in their units."""
    rows = change_rows(comparison)
    if not rows:
        return []
    text = "Means over episodes; sentences on copying judge the median episode."
    return ["## Metrics", "", text, "", *table(CHANGE_ALIGN, CHANGE_HEADER, escaped(rows))]


def gate_horizons(comparison: Comparison) -> list[str]:
    """Changes of the composite's metrics at every horizon, prefix view."""
    changes = {(c.horizon, c.metric): c for c in comparison.composite_horizons}
    names = sorted({name for _, name in changes})
    if not names:
        return []
    header = ["Horizon", *(escape(name) for name in names)]
    rows = []
    for horizon in sorted({horizon for horizon, _ in changes}):
        cells = [changes.get((horizon, name)) for name in names]
        rows.append(
            [
                horizon_label(horizon),
                *(
                    ABSENT
                    if c is None
                    else f"{quantity(c.candidate, SCORE_UNIT)} ({change(c.change)})"
                    for c in cells
                ),
            ]
        )
    return [
        "## Horizons",
        "",
        "Candidate's mean over all steps up to the horizon, and its change.",
        "",
        *table("l" + "r" * len(names), header, rows),
    ]


def gate_episodes(comparison: Comparison) -> list[str]:
    """All episodes when they are few, else those that moved most."""
    if not comparison.episodes:
        return []
    lowest, highest = comparison.worst_changes, comparison.best_changes
    parts = [
        (_title(lowest, "Largest drops", "Smallest gains", "Lowest changes"), lowest),
        (_title(highest, "Smallest drops", "Largest gains", "Highest changes"), highest),
    ]
    if len(comparison.episodes) <= len(lowest) + len(highest):
        parts = [("Episodes, lowest change first", _by_change(comparison))]
    lines = []
    for title, items in parts:
        rows = [
            [escape(c.episode_id), score(c.baseline), score(c.candidate), change(c.change)]
            for c in items
        ]
        header = ["Episode", "Baseline", "Candidate", "Change"]
        lines += [f"## {title}", "", *table("lrrr", header, rows)]
    return lines


def _title(items: Sequence[EpisodeChange], drops: str, gains: str, mixed: str) -> str:
    if all(item.change < 0 for item in items):
        return drops
    return gains if all(item.change > 0 for item in items) else mixed


def _by_change(comparison: Comparison) -> tuple[EpisodeChange, ...]:
    return tuple(sorted(comparison.episodes, key=lambda item: item.change))


def limit_text(value: object) -> str:
    """A limit as it was given; several as a list."""
    if isinstance(value, Mapping):
        value = [f"{name} {setting(number)}" for name, number in value.items()]
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return setting(value)


def gate_limits(verdict: Verdict, configuration_file: str | None) -> list[str]:
    """The thresholds that were applied."""
    tolerance = tolerance_text(UNCHANGED_TOLERANCE)
    lines = [
        f"## Thresholds (policy {verdict.policy})",
        "",
        f"Drops are in points; {tolerance}.",
        "",
    ]
    for name, value in verdict.thresholds.items():
        text = limit_text(value)
        lines.append(f"- {name}: {escape('no limit' if value is None else text)}")
    lines.append(f"- Configuration file: {escape(configuration_file or 'none')}")
    return [*lines, ""]
