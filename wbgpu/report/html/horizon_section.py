"""Where along the horizon a result is good, and where it changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from wbgpu.records.comparison import Comparison, View
from wbgpu.records.curves import Curve
from wbgpu.records.evidence import HorizonTest
from wbgpu.records.suite import SuiteResult
from wbgpu.report.evidence_lines import untested_words
from wbgpu.report.html.charts import HeatRow, heat_map, line_chart, line_of
from wbgpu.report.html.page import Chart, Section, lines, table
from wbgpu.report.numbers import quantity
from wbgpu.report.skill import RULE, label_spans
from wbgpu.report.suite_rows import counts_copies, horizon_table

SIGNIFICANCE = 0.05
"""Familywise error rate at which a change counts as significant."""

_LEVELS = (1.0, 2.0, 3.0, 5.0)
"""|change| in standard errors from which a cell has the next colour."""

_VIEWS: dict[View, str] = {
    "prefix": "over all steps up to the horizon",
    "step": "at each step alone",
}


def horizon_section(
    result: SuiteResult,
    comparison: Comparison | None,
    curves: Sequence[Curve],
    tests: Sequence[HorizonTest],
    num_clusters: int | None = None,
) -> Section | None:
    """Curves, heat maps and the table; ``None`` where no metric has a view by horizon."""
    header, rows = horizon_table(result)
    heat = list(_heat_charts(tests))
    charts = list(_curve_charts(result, comparison, curves))
    if not (header or charts):
        return None
    texts = [
        "Bands are 95 % intervals over episodes: Student-t of a mean, of a skill's median "
        "between two episodes' values."
    ]
    if any(curve.source == "persistence" for curve in curves):
        texts.append("Persistence is a copy of the last context frame.")
    if tests and num_clusters is not None:
        texts.append(
            f"Standard errors are over {num_clusters} clusters, whose episodes count together; "
            "bands are over episodes."
        )
    remarks = _significant(tests)
    content = {
        "texts": texts,
        "wide_charts": heat,
        "charts": charts,
        "tables": [
            table(
                "Main metrics by horizon",
                "l" + "r" * (len(header) - 1),
                header,
                rows,
                anchor="horizons-table",
                title=f"Numbers of {result.checkpoint_name}",
            )
        ]
        if header
        else [],
        "remarks": lines([*remarks, *([RULE] if counts_copies(result) else [])]),
    }
    return Section("horizons", "Horizons", "charts.html", content)


def _heat_charts(tests: Sequence[HorizonTest]) -> Iterator[Chart]:
    for view, words in _VIEWS.items():
        rows = _heat_rows([test for test in tests if test.view == view])
        if not rows:
            continue
        title = f"Change by metric and horizon, {words}"
        markup = heat_map(rows, label=f"{title}. {_heat_words(rows)}", prefix=f"heat-{view}")
        caption = (
            "Blue is better, orange is worse, the deeper the more standard errors "
            f"({', '.join(f'{level:g}' for level in _LEVELS)}). {_dots(tests, view)}"
        )
        if len({horizon for row in rows for horizon in row.levels}) > min(
            len(row.levels) for row in rows
        ):
            caption += " An empty place: the metric has no value there in both results."
        yield Chart(title, Markup(markup), caption, "wide")


def _dots(tests: Sequence[HorizonTest], view: View) -> str:
    """What a dot means, or why there cannot be any."""
    shown = [test for test in tests if test.view == view]
    if any(test.adjusted_p_value is not None for test in shown):
        return (
            f"A dot: significant at {SIGNIFICANCE:.0%} over all cells of this chart together "
            "(step-down max-T)."
        )
    return f"No dots: {untested_words(max(shown, key=_num_units))}."


def _num_units(test: HorizonTest) -> int:
    return test.num_units


def _heat_rows(tests: Sequence[HorizonTest]) -> list[HeatRow]:
    by_metric: dict[str, list[HorizonTest]] = {}
    for test in tests:
        by_metric.setdefault(test.metric, []).append(test)
    return [
        HeatRow(
            metric,
            {test.horizon: _level(test) for test in group},
            frozenset(test.horizon for test in group if _is_significant(test)),
        )
        for metric, group in by_metric.items()
    ]


def _level(test: HorizonTest) -> int:
    size = abs(test.change)
    if size == 0 or test.standard_error is None:
        return 0
    errors = size / test.standard_error if test.standard_error > 0 else math.inf
    level = sum(errors >= limit for limit in _LEVELS)
    return level if (test.change > 0) == test.higher_is_better else -level


def _is_significant(test: HorizonTest) -> bool:
    return test.adjusted_p_value is not None and test.adjusted_p_value <= SIGNIFICANCE


def _heat_words(rows: Sequence[HeatRow]) -> str:
    parts = []
    for row in rows:
        better = sum(level > 0 for level in row.levels.values())
        worse = sum(level < 0 for level in row.levels.values())
        parts.append(
            f"{row.label}: better at {better}, worse at {worse}, significant at "
            f"{len(row.significant)} of {len(row.levels)} horizons"
        )
    return "; ".join(parts)


def _significant(tests: Sequence[HorizonTest]) -> list[str]:
    """What the dots say, in words."""
    groups: dict[tuple[str, View, bool], list[HorizonTest]] = {}
    for test in tests:
        if _is_significant(test):
            is_better = (test.change > 0) == test.higher_is_better
            groups.setdefault((test.metric, test.view, is_better), []).append(test)
    texts = []
    for (metric, view, is_better), group in groups.items():
        spans = ", ".join(label_spans(sorted(test.horizon for test in group)))
        largest = max(group, key=lambda test: abs(test.change))
        texts.append(
            f"{metric} ({view}): significantly {'better' if is_better else 'worse'} at {spans}; "
            f"largest {quantity(abs(largest.change), largest.unit)} {largest.unit} at "
            f"{next(label_spans([largest.horizon]))}"
        )
    if tests and not texts:
        if any(test.adjusted_p_value is not None for test in tests):
            texts.append("No change at any horizon is significant.")
        else:
            words = untested_words(max(tests, key=_num_units))
            texts.append(f"No change at any horizon is tested: {words}.")
    return texts


def _curve_charts(
    result: SuiteResult, comparison: Comparison | None, curves: Sequence[Curve]
) -> Iterator[Chart]:
    names = {
        "candidate": result.checkpoint_name,
        "baseline": "" if comparison is None else comparison.baseline.checkpoint_name,
        "persistence": "persistence",
    }
    for metric in result.measured_metrics:
        view = _shown_view(metric, result, curves)
        chosen = [c for c in curves if c.metric == metric and c.view == view]
        if not any(curve.source == "candidate" for curve in chosen):
            continue
        chosen.sort(key=lambda curve: ("persistence", "baseline", "candidate").index(curve.source))
        info = result.metric_infos[metric]
        better = "higher is better" if info.higher_is_better else "lower is better"
        label = f"{metric} {_VIEWS[view]}, {better}. {_curve_words(chosen, names, info.unit)}"
        markup = line_chart(
            [line_of(curve, names[curve.source]) for curve in chosen],
            title=f"{metric}, {view}",
            unit=f"{chosen[-1].statistic}, {info.unit}",
            label=label,
            prefix=f"curve-{result.measured_metrics.index(metric)}",
        )
        keys = [(curve.source, names[curve.source]) for curve in reversed(chosen)]
        caption = f"{_VIEWS[view].capitalize()}; {better}."
        yield Chart(metric, Markup(markup), caption, keys=keys)


def _shown_view(metric: str, result: SuiteResult, curves: Sequence[Curve]) -> View:
    """Gates hold the composite's prefixes against thresholds; steps tell more where others fail."""
    views = {curve.view for curve in curves if curve.metric == metric}
    return "step" if "step" in views and metric not in result.enabled_metrics else "prefix"


def _curve_words(curves: Sequence[Curve], names: dict[str, str], unit: str) -> str:
    parts = []
    for curve in curves:
        first, last = curve.points[0], curve.points[-1]
        parts.append(
            f"{names[curve.source]}: {quantity(first.value, unit)} at t+{first.horizon}, "
            f"{quantity(last.value, unit)} at t+{last.horizon}"
        )
    return "; ".join(parts)
