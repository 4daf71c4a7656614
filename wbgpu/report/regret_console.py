"""Regret on the console: plain text, the same on every terminal."""

from __future__ import annotations

from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_comparison import RegretVerdict
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
from wbgpu.report.tables import aligned
from wbgpu.report.text import one_line


def regret_summary(result: RegretResult) -> str:
    """The lines that ``wbgpu regret`` prints."""
    return "\n".join(
        [
            f"World: {one_line(result.world)} (sha256 {one_line(result.world_sha256[:12])})",
            f"Contestant: {one_line(result.contestant)}",
            f"Episodes: {len(result.episodes)} of {result.num_steps} steps",
            "",
            *aligned([OVERALL_HEADER, *overall_rows(result)]),
            infinite_line(result),
            "",
            "Nats per step by variable:",
            *aligned([VARIABLE_HEADER, *_plain(variable_rows(result))]),
            "",
            "Expected regret by horizon:",
            curve(result),
            *aligned([HORIZON_HEADER, *horizon_rows(result)]),
        ]
    )


def regret_verdict_summary(verdict: RegretVerdict) -> str:
    """The lines that a gate on regret prints; the first is ``PASS`` or ``FAIL``."""
    comparison = verdict.comparison
    baseline, candidate = comparison.baseline, comparison.candidate
    lines = [verdict.status, ""]
    lines += [
        f"World:     {one_line(baseline.world)}, {len(baseline.episodes)} episodes of "
        f"{baseline.num_steps} steps",
        f"Baseline:  {one_line(baseline.contestant)}",
        f"Candidate: {one_line(candidate.contestant)}",
        "",
    ]
    changes = (
        "Expected regret, nats per step (lower is better; the gate decides on it):",
        change_text(comparison.expected),
        interval_text(comparison.expected),
        regret_effect_line(verdict),
        "Realised regret, nats per step (not gated):",
        change_text(comparison.realised),
        interval_text(comparison.realised),
    )
    lines += [line for line in changes if line is not None]
    if verdict.failures:
        lines += ["", "Regression detected:", *map(regret_failure_line, verdict.failures)]
    else:
        lines += ["", "No configured regression threshold was exceeded."]
    lines += ["", regret_limits_line(verdict)]
    if verdict.warnings:
        lines += ["", "Warnings:", *(f"- {warning}" for warning in verdict.warnings)]
    lines += ["", "Expected regret by variable, nats per step:"]
    lines += aligned([CHANGE_HEADER, *_plain(change_rows(comparison))])
    return "\n".join(lines)


def _plain(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [tuple(map(one_line, row)) for row in rows]
