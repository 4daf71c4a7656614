"""Markdown reports: of one result, and of a verdict."""

from __future__ import annotations

from wbgpu.records.comparison import Verdict
from wbgpu.records.suite import SuiteResult
from wbgpu.report.distances import distance_change_section, distance_section
from wbgpu.report.gate_sections import (
    gate_episodes,
    gate_headline,
    gate_horizons,
    gate_limits,
    gate_metrics,
    gate_reasons,
)
from wbgpu.report.origin import origin_section, pair_origin_sections
from wbgpu.report.result_sections import (
    baseline_section,
    failed_section,
    headline,
    horizon_section,
    metric_section,
    worst_section,
)
from wbgpu.report.tables import escape


def result_report(result: SuiteResult, baseline: SuiteResult | None = None) -> str:
    """A report of one result.

    Args:
        result: a batch or an evaluation.
        baseline: another result to show changes against.
    """
    lines = [f"# Evaluation of {escape(result.checkpoint_name)}", ""]
    lines += [f"**{escape(note)}**" for note in result.notes] + ([""] if result.notes else [])
    lines += headline(result)
    lines += failed_section(result)
    if baseline is not None:
        lines += baseline_section(result, baseline)
    lines += metric_section(result)
    lines += distance_section(result)
    lines += horizon_section(result)
    lines += worst_section(result)
    lines += origin_section(result)
    return "\n".join(lines)


def gate_report(verdict: Verdict, configuration_file: str | None = None) -> str:
    """A report of a verdict.

    Args:
        verdict: what the gate said.
        configuration_file: the wbgpu.yml or worldbench.yml that supplied thresholds, if any.
    """
    comparison = verdict.comparison
    lines = [f"# Gate: {verdict.status}", ""]
    lines += gate_headline(verdict)
    lines += gate_reasons(verdict)
    lines += gate_metrics(comparison)
    lines += distance_change_section(verdict)
    lines += gate_horizons(comparison)
    lines += gate_episodes(comparison)
    lines += gate_limits(verdict, configuration_file)
    lines += pair_origin_sections(comparison.baseline, comparison.candidate)
    return "\n".join(lines)
