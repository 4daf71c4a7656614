"""Sections of a verdict's report."""

from __future__ import annotations

from wbgpu.records.comparison import Comparison, Verdict
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.worldbench import horizon_label
from wbgpu.report.failures import failure_lines
from wbgpu.report.numbers import (
    ABSENT,
    change,
    quantity,
    score,
    setting,
    signed_quantity,
)
from wbgpu.report.result_sections import coverage_lines, failed_section, skill_lines
from wbgpu.report.tables import escape, table


def gate_headline(verdict: Verdict) -> list[str]:
    """What changed, and how sure that is."""
    comparison = verdict.comparison
    before, after = comparison.baseline, comparison.candidate
    overall = comparison.overall
    moved = ABSENT if overall is None else change(overall.change)
    lines = [
        f"- {escape(before.checkpoint_name)} -> {escape(after.checkpoint_name)}",
        f"- **Composite score: {score(before.summary.score)} -> {score(after.summary.score)} "
        f"({moved})**",
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
    if (effect := comparison.minimum_detectable_effect) is not None:
        lines.append(
            f"- Minimum detectable effect of these {len(comparison.episodes)} episodes: "
            f"{score(effect)} points (5 % two-sided, 80 % power)"
        )
    lines += coverage_lines(after)
    for side, result in (("Baseline", before), ("Candidate", after)):
        lines += skill_lines(result, f"{side}: ")
    return [*lines, ""]


def gate_reasons(verdict: Verdict) -> list[str]:
    """Broken rules, warnings and failed episodes."""
    lines = ["## Regression detected" if verdict.failures else "## No regression", ""]
    lines += [f"- {escape(line)}" for line in failure_lines(verdict.failures)]
    if not verdict.failures:
        lines.append("No configured regression threshold was exceeded.")
    lines.append("")
    if verdict.warnings:
        lines += ["## Warnings", "", *(f"- {escape(w)}" for w in verdict.warnings), ""]
    for result in (verdict.comparison.baseline, verdict.comparison.candidate):
        if failed := failed_section(result):
            lines += [f"{failed[0]} of {escape(result.checkpoint_name)}", *failed[1:]]
    return lines


def gate_metrics(comparison: Comparison) -> list[str]:
    """Changes of all metrics, in their units."""
    rows = []
    for item in (*comparison.composite_metrics, *comparison.other_metrics):
        info = comparison.candidate.metric_infos[item.metric]
        rows.append(
            [
                escape(item.metric),
                escape(info.unit),
                "higher" if info.higher_is_better else "lower",
                quantity(item.baseline, info.unit),
                quantity(item.candidate, info.unit),
                signed_quantity(item.change, info.unit),
                f"{item.baseline_count}/{item.candidate_count}",
            ]
        )
    header = ["Metric", "Unit", "Better", "Baseline", "Candidate", "Change", "Episodes (both)"]
    return ["## Metrics", "", *table("lllrrrr", header, rows)] if rows else []


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
    """The episodes that moved most."""
    if not comparison.episodes:
        return []
    lines = []
    for title, items in (
        ("Worst episodes", comparison.worst_changes),
        ("Best episodes", comparison.best_changes),
    ):
        rows = [
            [escape(c.episode_id), score(c.baseline), score(c.candidate), change(c.change)]
            for c in items
        ]
        header = ["Episode", "Baseline", "Candidate", "Change"]
        lines += [f"## {title}", "", *table("lrrr", header, rows)]
    return lines


def gate_limits(verdict: Verdict) -> list[str]:
    """The thresholds that were applied."""
    lines = [f"## Thresholds (policy {verdict.policy})", ""]
    for name, value in verdict.thresholds.items():
        text = ", ".join(value) or "none" if isinstance(value, (list, tuple)) else setting(value)
        lines.append(f"- {name}: {escape('no limit' if value is None else text)}")
    return [*lines, ""]
