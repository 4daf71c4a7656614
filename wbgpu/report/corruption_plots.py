"""Pictures of a corruption study: every metric against severity, and where the order fails."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from wbgpu.records.corruption import CorruptionStudy
from wbgpu.report.text import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 120
_NUM_COLUMNS = 4
_VERDICT_COLOURS = {
    "ordered": "#1a7f5a",
    "level": "#8fcfae",
    "misordered": "#f2b84b",
    "rewarded": "#c8442f",
    "blind": "#b9b9b9",
    "unavailable": "#f2f2f2",
}


def response_plot(study: CorruptionStudy) -> bytes:
    """A PNG with a panel for each metric: its mean over episodes at each severity of each fault."""
    from matplotlib import colormaps

    names = study.available_metrics
    num_rows = max(1, math.ceil(len(names) / _NUM_COLUMNS))
    figure = _figure(3.3 * _NUM_COLUMNS, 2.7 * num_rows + 0.9)
    panels = figure.subplots(num_rows, _NUM_COLUMNS, squeeze=False).flatten()
    colours, markers = colormaps["tab20"], "osD^v<>Pp*Xh"
    for panel, metric in zip(panels, names, strict=False):
        info = study.metric_infos[metric]
        for number, corruption in enumerate(study.corruptions):
            means = study.responses[corruption][metric].means
            if means:
                panel.plot(
                    study.severities,
                    means,
                    color=colours(number % 20),
                    marker=markers[number % len(markers)],
                    markersize=3.5,
                    linewidth=1.2,
                    label=_plain(corruption),
                )
        better = "higher" if info.higher_is_better else "lower"
        panel.set_title(_plain(metric), fontsize=9, loc="left")
        panel.set_ylabel(_plain(f"{info.unit} ({better} is better)"), fontsize=7)
        panel.tick_params(labelsize=7)
        panel.grid(alpha=0.25)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    for panel in panels[max(0, len(names) - _NUM_COLUMNS) : len(names)]:
        panel.set_xlabel("severity", fontsize=8)
    if names:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return _png(figure)


def ordering_plot(study: CorruptionStudy) -> bytes:
    """A PNG with a cell for each metric and fault: the verdict as colour, Kendall tau as text."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    verdicts = list(_VERDICT_COLOURS)
    metrics = list(study.available_metrics or study.metric_infos)
    corruptions = list(study.corruptions)
    figure = _figure(2.6 + 0.85 * len(corruptions), 1.9 + 0.36 * len(metrics))
    panel = figure.subplots()
    panel.imshow(
        [[verdicts.index(study.responses[c][m].verdict) for c in corruptions] for m in metrics],
        cmap=ListedColormap(list(_VERDICT_COLOURS.values())),
        vmin=-0.5,
        vmax=len(verdicts) - 0.5,
        aspect="auto",
    )
    for row, metric in enumerate(metrics):
        for column, corruption in enumerate(corruptions):
            response = study.responses[corruption][metric]
            if response.kendall_tau is not None:
                dark = response.verdict in ("ordered", "rewarded")
                panel.text(
                    column,
                    row,
                    f"{response.kendall_tau + 0.0:.2f}",
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if dark else "black",
                )
    panel.set_xticks(
        range(len(corruptions)), [_plain(c) for c in corruptions], rotation=30, ha="right"
    )
    panel.set_yticks(range(len(metrics)), [_plain(m) for m in metrics])
    panel.tick_params(labelsize=8)
    panel.set_title("Does the metric get worse as the fault gets worse?", fontsize=9, loc="left")
    patches = [Patch(facecolor=c, edgecolor="grey", label=v) for v, c in _VERDICT_COLOURS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=6, fontsize=8)
    return _png(figure)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    # No version inside: the same study is the same file.
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _plain(text: str) -> str:
    """A line of which matplotlib takes nothing for a formula."""
    return one_line(text).replace("$", r"\$")
