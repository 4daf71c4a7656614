"""Verdicts of policies that weigh evidence: console text and Markdown."""

from __future__ import annotations

from wbgpu.records.comparison import Verdict
from wbgpu.records.regret_comparison import RegretVerdict
from wbgpu.report.distances import TITLE, distance_change_lines, distance_change_section
from wbgpu.report.evidence_lines import (
    EVIDENCE_ALIGN,
    EVIDENCE_HEADER,
    evidence_rows,
    method_line,
    power_lines,
)
from wbgpu.report.failures import failure_lines
from wbgpu.report.gate_sections import (
    gate_episodes,
    gate_horizons,
    gate_metrics,
    limit_text,
)
from wbgpu.report.model_inputs import actions_note
from wbgpu.report.numbers import change, percent, score
from wbgpu.report.origin import pair_origin_sections
from wbgpu.report.sides import differing_settings, ungated_line
from wbgpu.report.tables import aligned, escape, table
from wbgpu.report.text import one_line

_HEADINGS = {
    "PASS": "Not worse than the margin allows:",
    "FAIL": "Regression detected:",
    "INCONCLUSIVE": "Not decided:",
}


def evidence_summary(verdict: Verdict | RegretVerdict) -> str:
    """The lines that a gate prints; the first is ``PASS``, ``FAIL`` or ``INCONCLUSIVE``."""
    before, after = _names(verdict)
    lines: list[str] = [verdict.status]
    if (ungated := _ungated(verdict)) is not None:
        lines.append(ungated)
    lines += ["", f"Baseline:  {before}", f"Candidate: {after}"]
    lines += [] if (given := _given(verdict)) is None else [given]
    lines += _measured(verdict)
    lines.append("")
    lines += [_HEADINGS[verdict.status], *reason_lines(verdict), ""]
    if warnings := _warnings(verdict):
        lines += ["Warnings:", *(f"- {warning}" for warning in warnings), ""]
    if verdict.evidence:
        lines += aligned([EVIDENCE_HEADER, *evidence_rows(verdict.evidence)])
        lines += ["", method_line(verdict), *power_lines(verdict.evidence), ""]
    if isinstance(verdict, Verdict):
        comparison = verdict.comparison
        lines += differing_settings(comparison) if comparison.mismatches else []
        if distances := distance_change_lines(verdict):
            lines += [f"{TITLE}:", *distances, ""]
        lines += [
            f"Episodes: {len(comparison.improved)} improved, {len(comparison.regressed)} "
            f"regressed, {comparison.num_unchanged} unchanged",
        ]
    return "\n".join(map(one_line, lines)).rstrip("\n")


def evidence_report(verdict: Verdict | RegretVerdict, configuration_file: str | None = None) -> str:
    """A report of a verdict in Markdown.

    Args:
        verdict: of a policy that weighs evidence.
        configuration_file: the wbgpu.yml or worldbench.yml that supplied settings, if any.
    """
    before, after = _names(verdict)
    lines = [f"# Gate: {verdict.status}", "", f"- {escape(before)} -> {escape(after)}"]
    lines += [] if (given := _given(verdict)) is None else [f"- {escape(given)}"]
    if (ungated := _ungated(verdict)) is not None:
        lines.append(f"- **{escape(ungated)}**")
    lines += [f"- {escape(line)}" for line in _measured(verdict)]
    lines += ["", f"## {_HEADINGS[verdict.status].rstrip(':')}", ""]
    lines += [f"- {escape(line)}" for line in reason_lines(verdict)]
    lines.append("")
    if warnings := _warnings(verdict):
        lines += ["## Warnings", "", *(f"- {escape(warning)}" for warning in warnings), ""]
    if verdict.evidence:
        rows = [tuple(map(escape, row)) for row in evidence_rows(verdict.evidence)]
        lines += ["## Evidence", "", *table(EVIDENCE_ALIGN, EVIDENCE_HEADER, rows)]
        lines += [escape(method_line(verdict)) + ".", ""]
        lines += [*(f"- {escape(line)}" for line in power_lines(verdict.evidence)), ""]
    if not isinstance(verdict, Verdict):
        return "\n".join(lines)
    comparison = verdict.comparison
    lines += gate_metrics(comparison)
    lines += distance_change_section(verdict)
    lines += gate_horizons(comparison)
    lines += gate_episodes(comparison)
    lines += _settings(verdict, configuration_file)
    lines += pair_origin_sections(comparison.baseline, comparison.candidate)
    return "\n".join(lines)


def reason_lines(verdict: Verdict | RegretVerdict) -> list[str]:
    """Why the verdict is what it is, a line for each reason."""
    if verdict.failures:
        return failure_lines(verdict.failures)
    if verdict.undecided:
        return failure_lines(verdict.undecided)
    return [f"{item.name} clears its margin" for item in verdict.evidence]


def _ungated(verdict: Verdict | RegretVerdict) -> str | None:
    if not isinstance(verdict, Verdict):
        return None
    return ungated_line(verdict.comparison, [item.name for item in verdict.evidence])


def _warnings(verdict: Verdict | RegretVerdict) -> tuple[str, ...]:
    return verdict.all_warnings if isinstance(verdict, Verdict) else verdict.warnings


def _measured(verdict: Verdict | RegretVerdict) -> list[str]:
    """Scores of both sides, and how much of the composite they are of."""
    if not isinstance(verdict, Verdict):
        return []
    comparison = verdict.comparison
    before, after = comparison.baseline.summary, comparison.candidate.summary
    moved = "" if comparison.overall is None else f" ({change(comparison.overall.change)})"
    coverage = after.coverage
    return [
        f"Composite Score: {score(before.score)} -> {score(after.score)}{moved}",
        f"Metric coverage: {len(coverage.available_metrics)} of "
        f"{len(coverage.configured_metrics)}; configured weight coverage: "
        f"{percent(coverage.configured_weight_coverage)}",
    ]


def _given(verdict: Verdict | RegretVerdict) -> str | None:
    return (
        actions_note(verdict.comparison.baseline, verdict.comparison.candidate)
        if isinstance(verdict, Verdict)
        else None
    )


def _settings(verdict: Verdict, configuration_file: str | None) -> list[str]:
    lines = [f"## Settings (policy {verdict.policy})", ""]
    for name, value in verdict.thresholds.items():
        lines.append(f"- {name}: {escape(limit_text(value))}")
    return [*lines, f"- Configuration file: {escape(configuration_file or 'none')}", ""]


def _names(verdict: Verdict | RegretVerdict) -> tuple[str, str]:
    if isinstance(verdict, Verdict):
        comparison = verdict.comparison
        return comparison.baseline.checkpoint_name, comparison.candidate.checkpoint_name
    return verdict.comparison.baseline.contestant, verdict.comparison.candidate.contestant
