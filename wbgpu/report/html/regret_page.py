"""The page of a regret result, with what changed against a baseline if there is one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from wbgpu.records.regret import HorizonRegret, NatsEstimate, RegretResult
from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict
from wbgpu.report.evidence_lines import method_line, power_lines
from wbgpu.report.failures import regret_failure_lines
from wbgpu.report.html.charts import Line as ChartLine
from wbgpu.report.html.charts import line_chart
from wbgpu.report.html.evidence_table import STATUS_TITLES, evidence_table
from wbgpu.report.html.page import Chart, Line, Section, lines, render, table
from wbgpu.report.regret_failures import regret_effect_line, regret_limits_line
from wbgpu.report.regret_markdown import regret_origin_rows
from wbgpu.report.regret_rows import (
    CHANGE_HEADER,
    HORIZON_HEADER,
    OVERALL_HEADER,
    VARIABLE_HEADER,
    change_rows,
    change_text,
    horizon_rows,
    infinite_line,
    interval_text,
    nats,
    overall_rows,
    variable_rows,
)

_BAND_ERRORS = 1.96
"""Standard errors of a 95 % band, of means over many steps close enough to normal."""


def regret_page(
    result: RegretResult,
    comparison: RegretComparison | None = None,
    verdict: RegretVerdict | None = None,
) -> str:
    """A report as one HTML file.

    Args:
        result: the candidate.
        comparison: of a baseline with it, to show changes.
        verdict: on the comparison, if there is one.
    """
    title = f"Regret of {result.contestant} in {result.world}"
    if comparison is not None:
        before = comparison.baseline.contestant
        title = f"{result.contestant} against {before} in {result.world}"
    subtitle = (
        f"{len(result.episodes)} episodes of {result.num_steps} steps; made by {result.producer} "
        f"at {result.created_at}"
    )
    sections = [
        _summary(result, comparison, verdict),
        regret_curves(result, comparison),
        _variables(result, comparison),
        _origin(result, comparison),
    ]
    return render(title, subtitle, None if verdict is None else verdict.status, sections)


def _summary(
    result: RegretResult, comparison: RegretComparison | None, verdict: RegretVerdict | None
) -> Section:
    facts: list[Line] = []
    if comparison is not None:
        facts += lines(_change_lines(comparison))
    facts.append(Line(infinite_line(result), is_warning=result.totals.num_infinite > 0))
    reasons, warnings, title, name = [], [], "", "Summary"
    if verdict is not None:
        title, name = STATUS_TITLES[verdict.status], f"Verdict (policy {verdict.policy})"
        reasons = lines(regret_failure_lines([*verdict.failures, *verdict.undecided]))
        warnings = lines(verdict.warnings)
        if "max_regret_increase" in verdict.thresholds:
            effect = regret_effect_line(verdict)
            facts += lines([*([] if effect is None else [effect]), regret_limits_line(verdict)])
        elif verdict.evidence:
            facts += lines([*power_lines(verdict.evidence), method_line(verdict)])
    content = {
        "reasons_title": title,
        "reasons": reasons,
        "facts": facts,
        "evidence": None if verdict is None else evidence_table(verdict),
        "warnings": warnings,
    }
    return Section("verdict", name, "verdict.html", content)


def _change_lines(comparison: RegretComparison) -> Iterator[str]:
    for name, change in (
        ("Expected regret", comparison.expected),
        ("Realised regret", comparison.realised),
    ):
        interval = interval_text(change)
        text = f"{name}: {change_text(change)} nats per step"
        yield text if interval is None else f"{text}; {interval}"


def regret_curves(
    result: RegretResult, comparison: RegretComparison | None, title: str = "Horizons"
) -> Section:
    """Regret over the steps of an episode, of both sides where there is a comparison."""
    sources = [("candidate", result)]
    if comparison is not None:
        sources.insert(0, ("baseline", comparison.baseline))
    charts = []
    for key, name, caption in (
        ("step_expected_regret", "Expected regret of each step", "Each step alone."),
        (
            "prefix_expected_regret",
            "Expected regret per step, up to the horizon",
            "Summed up to the horizon and divided by it.",
        ),
        ("step_regret", "Realised regret of each step", "Holds the luck of the episodes as well."),
    ):
        drawn = [_line(source, side, key) for source, side in sources]
        words = "; ".join(
            f"{line.label}: {nats(line.values[0])} at step {line.horizons[0]}, "
            f"{nats(line.values[-1])} at step {line.horizons[-1]}"
            for line in drawn
            if line.horizons
        )
        markup = line_chart(
            drawn, title=name, unit="nats per step", label=f"{name}. {words}", prefix=key
        )
        keys = [(source, side.contestant) for source, side in reversed(sources)]
        charts.append(Chart(name, Markup(markup), caption, keys=keys))
    tables = [
        table(
            f"Expected regret by horizon, {side.contestant}",
            "rrrrr",
            HORIZON_HEADER,
            horizon_rows(side),
            anchor=f"regret-{source}",
            title=f"Numbers of {side.contestant}",
        )
        for source, side in sources
    ]
    content = {
        "texts": [
            "Regret is what the forecasts lost against the truth, in nats; expected regret is its "
            "mean over what could have happened, and varies less. Bands are 1.96 standard errors "
            "over episodes; horizons at which regret is infinite are left out."
        ],
        "wide_charts": [],
        "charts": charts,
        "tables": tables,
        "remarks": [],
    }
    return Section("regret", title, "charts.html", content)


def _line(source: str, result: RegretResult, key: str) -> ChartLine:
    horizons: list[int] = []
    values: list[float] = []
    errors: list[float] = []
    for horizon in result.horizons:
        estimate = _estimate(horizon, key)
        if math.isfinite(estimate.mean):
            share = horizon.horizon if key.startswith("prefix") else 1
            error = estimate.standard_error
            horizons.append(horizon.horizon)
            values.append(estimate.mean / share)
            errors.append(math.nan if error is None else _BAND_ERRORS * error / share)
    lower = [value - error for value, error in zip(values, errors, strict=True)]
    upper = [value + error for value, error in zip(values, errors, strict=True)]
    return ChartLine(source, result.contestant, horizons, values, lower, upper)


def _estimate(horizon: HorizonRegret, key: str) -> NatsEstimate:
    estimate: NatsEstimate = getattr(horizon, key)
    return estimate


def _variables(result: RegretResult, comparison: RegretComparison | None) -> Section:
    name = result.contestant
    tables = [
        table(
            f"Nats of {name}",
            "lrrr",
            OVERALL_HEADER,
            overall_rows(result),
            anchor="overall",
            title=name,
        ),
        table(
            f"Nats per step by variable, {name}",
            "lrrrrr",
            VARIABLE_HEADER,
            variable_rows(result),
            anchor="variables",
            title="Nats per step by variable",
        ),
    ]
    if comparison is not None:
        tables.insert(
            0,
            table(
                "Changes by variable",
                "lrrr",
                CHANGE_HEADER,
                change_rows(comparison),
                anchor="changes",
                title="Expected regret by variable, nats per step",
            ),
        )
    content = {"text": "", "tables": tables, "remarks": []}
    return Section("variables", "Numbers", "tables.html", content)


def _origin(result: RegretResult, comparison: RegretComparison | None) -> Section:
    sides: Sequence[tuple[str, RegretResult]] = [(result.contestant, result)]
    if comparison is not None:
        before = comparison.baseline
        sides = [
            (f"Baseline: {before.contestant}", before),
            (f"Candidate: {result.contestant}", result),
        ]
    parts = [{"title": title, "rows": regret_origin_rows(side)} for title, side in sides]
    return Section("origin", "Protocol and provenance", "origin.html", {"parts": parts})
