"""The charts of a report, each as SVG markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from wbgpu.records.comparison import EpisodeChange
from wbgpu.records.curves import Curve
from wbgpu.report.html.svg import HEAT_LEVELS, chart_style, color, svg_markup
from wbgpu.report.text import one_line

_MAX_NAMED_EPISODES = 40
_MAX_NAME_LENGTH = 26
_WIDTH_INCHES = 5.4
_DASHES: Mapping[str, str] = {"baseline": "--", "candidate": "-", "persistence": ":"}


@dataclass(frozen=True)
class Line:
    """One line of a chart over horizons.

    Attributes:
        source: ``baseline``, ``candidate`` or ``persistence``; decides how it looks.
        label: whose it is; the page says it, where a long name has room.
        horizons, values: of equal length.
        lower, upper: ends of intervals, NaN for none.
    """

    source: str
    label: str
    horizons: Sequence[int]
    values: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]


@dataclass(frozen=True)
class HeatRow:
    """One metric of the heat map.

    Attributes:
        label: the metric's name.
        levels: by horizon, -4 (worse) to 4 (better), 0 for no change; horizons without a value
            are left out.
        significant: horizons at which the change is significant.
    """

    label: str
    levels: Mapping[int, int]
    significant: frozenset[int]


def line_of(curve: Curve, label: str) -> Line:
    """A curve as a line."""
    nan = float("nan")
    return Line(
        curve.source,
        label,
        [p.horizon for p in curve.points],
        [p.value for p in curve.points],
        [nan if p.lower is None else p.lower for p in curve.points],
        [nan if p.upper is None else p.upper for p in curve.points],
    )


def line_chart(lines: Sequence[Line], *, title: str, unit: str, label: str, prefix: str) -> str:
    """Lines over horizons with bands for their intervals.

    Args:
        lines: those of whom there is something to draw.
        title: above the chart.
        unit: of the vertical axis.
        label: what the chart shows, in words.
        prefix: of all ids.
    """
    with chart_style():
        figure = Figure(figsize=(_WIDTH_INCHES, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for line in lines:
            _draw(axes, line)
        axes.set_title(title)
        axes.set_xlabel("horizon (steps)")
        axes.set_ylabel(unit)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        return svg_markup(figure, label, prefix)


def heat_map(rows: Sequence[HeatRow], *, label: str, prefix: str) -> str:
    """Metric by horizon; a dot marks what is significant."""
    horizons = sorted({horizon for row in rows for horizon in row.levels})
    with chart_style():
        figure = Figure(figsize=(9.0, 0.75 + 0.34 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(visible=False)
        for y, row in enumerate(rows):
            lefts = list(row.levels)
            colors = [_heat_color(level) for level in row.levels.values()]
            axes.barh(
                [y] * len(lefts),
                [0.94] * len(lefts),
                0.9,
                [x - 0.47 for x in lefts],
                color=colors,
                edgecolor=color("line"),
                linewidth=0.3,
            )
            dots = sorted(row.significant)
            axes.plot(
                dots,
                [y] * len(dots),
                "o",
                color=color("ink"),
                markeredgecolor=color("background"),
                markersize=5.5,
            )
        axes.set_yticks(range(len(rows)), [_short(row.label) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(horizons[0] - 0.5, horizons[-1] + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16, min_n_ticks=1))
        axes.set_xlabel("horizon (steps)")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        return svg_markup(figure, label, prefix)


def episode_chart(changes: Sequence[EpisodeChange], *, label: str, prefix: str) -> str:
    """Change of each episode's composite, lowest first; episodes are named while they are few."""
    ordered = sorted(changes, key=lambda item: item.change)
    values = [item.change for item in ordered]
    colors = [color("worse") if value < 0 else color("better") for value in values]
    named = len(ordered) <= _MAX_NAMED_EPISODES
    with chart_style():
        height = 0.8 + 0.24 * len(ordered) if named else 3.6
        figure = Figure(figsize=(_WIDTH_INCHES, height), layout="constrained")
        axes = figure.add_subplot()
        if named:
            positions = np.arange(len(ordered))
            axes.barh(positions, values, 0.66, color=colors)
            axes.set_yticks(positions, [_short(item.episode_id) for item in ordered])
            axes.set_ylim(len(ordered) - 0.4, -0.6)
            axes.axvline(0, color=color("muted"), linewidth=1)
            axes.grid(visible=False, axis="y")
            axes.set_xlabel("change of the composite (points)")
        else:
            ranks = np.arange(1, len(ordered) + 1)
            changes_ = np.array(values)
            for name, part in (("worse", changes_ < 0), ("better", changes_ >= 0)):
                axes.fill_between(ranks, changes_, 0, where=part, color=color(name), step="mid")
            axes.axhline(0, color=color("muted"), linewidth=1)
            axes.set_xlim(1, len(ordered))
            axes.set_xlabel("episodes, lowest change first")
            axes.set_ylabel("change (points)")
        return svg_markup(figure, label, prefix)


def _draw(axes: Axes, line: Line) -> None:
    marker = "o" if len(line.horizons) <= 20 and line.source != "persistence" else ""
    axes.plot(
        line.horizons,
        line.values,
        color=color(line.source),
        linestyle=_DASHES[line.source],
        marker=marker,
        markersize=3,
    )
    if not np.isnan(np.array(line.lower)).all():
        axes.fill_between(
            line.horizons,
            line.lower,
            line.upper,
            color=color(line.source),
            alpha=0.08 if line.source == "persistence" else 0.16,
            linewidth=0,
        )


def _heat_color(level: int) -> str:
    if level == 0:
        return color("panel")
    return color(f"heat-{'better' if level > 0 else 'worse'}-{min(abs(level), HEAT_LEVELS)}")


def _short(name: str) -> str:
    """A name that leaves room for the chart: the middle of a long one is left out."""
    name = one_line(name)
    if len(name) <= _MAX_NAME_LENGTH:
        return name
    half = _MAX_NAME_LENGTH // 2
    return f"{name[: half - 1]}…{name[-half:]}"
