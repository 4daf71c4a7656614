"""Regret in Markdown: of one result, and of a verdict."""

from __future__ import annotations

import json

from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict
from wbgpu.report.regret_failures import (
    regret_effect_line,
    regret_failure_line,
    regret_limits_line,
)
from wbgpu.report.regret_rows import (
    CHANGE_HEADER,
    HORIZON_HEADER,
    OVERALL_HEADER,
    VARIABLE_HEADER,
    change_rows,
    change_text,
    curve,
    horizon_rows,
    infinite_line,
    interval_text,
    overall_rows,
    variable_rows,
)
from wbgpu.report.tables import escape, escaped, table


def regret_report(result: RegretResult, comparison: RegretComparison | None = None) -> str:
    """A report of one result.

    Args:
        result: of one contestant in one world.
        comparison: of a baseline with it, to show changes.
    """
    lines = [f"# Regret of {escape(result.contestant)} in {escape(result.world)}", ""]
    lines += [
        f"{len(result.episodes)} episodes of {result.num_steps} steps. Regret is what the "
        "forecasts lost against the truth, in nats; expected regret is its mean over what could "
        "have happened, and varies less.",
        "",
        *table("lrrr", OVERALL_HEADER, overall_rows(result)),
        infinite_line(result),
        "",
    ]
    if comparison is not None:
        lines += _change_section(comparison)
    lines += ["## Nats per step by variable", ""]
    lines += table("lrrrrr", VARIABLE_HEADER, escaped(variable_rows(result)))
    lines += ["## Expected regret by horizon", "", f"`{curve(result)}`", ""]
    lines += table("rrrrr", HORIZON_HEADER, horizon_rows(result))
    lines += [*_origin(result, "Protocol and provenance")]
    return "\n".join(lines)


def regret_gate_report(verdict: RegretVerdict) -> str:
    """A report of a verdict."""
    comparison = verdict.comparison
    lines = [f"# Gate: {verdict.status}", ""]
    lines += _change_lines(comparison)
    if (effect := regret_effect_line(verdict)) is not None:
        lines.append(f"- {effect}")
    lines += ["", "## Reasons", ""]
    lines += [f"- {escape(regret_failure_line(failure))}" for failure in verdict.failures]
    if not verdict.failures:
        lines.append("No configured regression threshold was exceeded.")
    lines += ["", *_variable_section(comparison), "## Limits", "", regret_limits_line(verdict), ""]
    lines += [f"- {warning}" for warning in verdict.warnings] + ([""] if verdict.warnings else [])
    lines += _origin(comparison.baseline, f"Baseline: {escape(comparison.baseline.contestant)}")
    lines += _origin(comparison.candidate, f"Candidate: {escape(comparison.candidate.contestant)}")
    return "\n".join(lines)


def _change_section(comparison: RegretComparison) -> list[str]:
    return [
        f"## Against {escape(comparison.baseline.contestant)}",
        "",
        *_change_lines(comparison),
        "",
        *_variable_section(comparison),
    ]


def _change_lines(comparison: RegretComparison) -> list[str]:
    """Changes of expected and realised regret, with their intervals."""
    lines = [
        f"- {escape(comparison.baseline.contestant)} -> {escape(comparison.candidate.contestant)} "
        f"in {escape(comparison.baseline.world)}, {len(comparison.baseline.episodes)} episodes of "
        f"{comparison.baseline.num_steps} steps"
    ]
    for name, change in (
        ("Expected regret (gated)", comparison.expected),
        ("Realised regret", comparison.realised),
    ):
        lines.append(f"- **{name}: {change_text(change)} nats per step**")
        if (interval := interval_text(change)) is not None:
            lines.append(f"  {interval}")
    return lines


def _variable_section(comparison: RegretComparison) -> list[str]:
    return [
        "## Expected regret by variable, nats per step",
        "",
        *table("lrrr", CHANGE_HEADER, escaped(change_rows(comparison))),
    ]


def regret_origin_rows(result: RegretResult) -> dict[str, str]:
    """How the numbers came about, by what is told."""
    return {
        "Made by": f"{result.producer} at {result.created_at}",
        "World": f"{result.world}, sha256 {result.world_sha256}",
        "Seeds": _seeds(result.seeds),
        "Configuration": json.dumps(dict(result.configuration)),
        "Environment": ", ".join(f"{k} {v}" for k, v in result.environment.items()),
        "Command": result.command or "none (made from Python)",
    }


def _origin(result: RegretResult, title: str) -> list[str]:
    rows = regret_origin_rows(result)
    return [f"## {title}", "", *(f"- {key}: {escape(text)}" for key, text in rows.items()), ""]


def _seeds(seeds: tuple[int, ...]) -> str:
    if len(seeds) > 1 and seeds == tuple(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    shown = ", ".join(map(str, seeds[:10]))
    return shown if len(seeds) <= 10 else f"{shown} ... ({len(seeds)} in all)"
