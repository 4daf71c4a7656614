"""A picture of a sweep: metric x horizon for every job, coloured by how sure the change is."""

from __future__ import annotations

import io

from wbgpu.records.sweep import HorizonChanges, SweepRanking
from wbgpu.report.sweep_standard_errors import LIMIT, standardised
from wbgpu.report.text import one_line

MAX_JOBS = 12
"""More panels than these are no picture any more; the best are drawn."""

_CELL_INCHES = 0.28
_DPI = 120
_MAX_LABEL = 90


def heat_map(ranking: SweepRanking) -> bytes | None:
    """A PNG with a panel per job but the reference; ``None`` where there is nothing to draw."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [job for job in ranking.jobs if ranking.horizons.get(job.job)][:MAX_JOBS]
    if not shown:
        return None
    names = list(dict.fromkeys(name for job in shown for name in ranking.horizons[job.job]))
    num_steps = max(len(row.changes) for job in shown for row in ranking.horizons[job.job].values())
    panel_height = _CELL_INCHES * len(names) + 0.7
    figure = Figure(
        figsize=(3.2 + max(4.0, _CELL_INCHES * num_steps), panel_height * len(shown) + 0.9),
        dpi=_DPI,
        layout="constrained",
    )
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for panel, job in zip(panels, shown, strict=True):
        rows = ranking.horizons[job.job]
        panel.imshow(
            [_oriented(rows.get(name), num_steps) for name in names],
            cmap="RdBu",
            vmin=-LIMIT,
            vmax=LIMIT,
            aspect="auto",
            interpolation="nearest",
        )
        panel.set_facecolor("lightgrey")
        panel.set_yticks(range(len(names)), [_plain(name) for name in names], fontsize=7)
        ticks = range(0, num_steps, max(1, -(-num_steps // 12)))
        panel.set_xticks(ticks, [f"t+{t + 1}" for t in ticks], fontsize=7)
        panel.set_title(_plain(f"job {job.job}: {job.label}"), fontsize=8, loc="left")
    reference = next(j for j in ranking.jobs if j.job == ranking.horizon_reference_job)
    bar = figure.colorbar(panels[0].images[0], ax=list(panels))
    bar.set_label("standard errors", fontsize=7)
    bar.ax.tick_params(labelsize=7)
    # Above and not beside the bar, which may be shorter than a line.
    figure.suptitle(
        _plain(
            f"Change to job {reference.job}: {reference.label}\nin standard errors; blue: better, "
            "red: worse, grey: fewer than two episodes"
        ),
        x=0.01,
        ha="left",
        fontsize=8,
    )
    file = io.BytesIO()
    # No version inside: the same ranking is the same file.
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _oriented(row: HorizonChanges | None, num_steps: int) -> list[float]:
    """Standard errors, positive where better; NaN (drawn grey) where there is none."""
    if row is None:
        return [float("nan")] * num_steps
    sign = 1.0 if row.higher_is_better else -1.0
    cells = [float("nan") if ratio is None else sign * ratio for ratio in standardised(row)]
    return cells + [float("nan")] * (num_steps - len(cells))


def _plain(text: str) -> str:
    """Lines that are not too long, of which matplotlib takes nothing for a formula."""
    lines = [one_line(part) for part in text.split("\n")]
    kept = [x if len(x) <= _MAX_LABEL else f"{x[: _MAX_LABEL - 3]}..." for x in lines]
    return "\n".join(kept).replace("$", r"\$")
