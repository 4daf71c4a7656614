"""All episodes of a result: the chart of their changes, and a table in pages."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from wbgpu.records.comparison import Comparison
from wbgpu.records.suite import SuiteResult
from wbgpu.report.html.charts import episode_chart
from wbgpu.report.html.page import Chart, Section, Table, table
from wbgpu.report.numbers import change, score
from wbgpu.report.suite_rows import weakness


def episode_section(result: SuiteResult, comparison: Comparison | None) -> Section:
    """Episodes, the lowest change first; without a baseline the lowest score."""
    charts = [] if comparison is None or not comparison.episodes else [_chart(comparison)]
    tables = [_table(result, comparison)]
    failed = [
        [e.episode_id, f"{e.failure.error_type}: {e.failure.message}"]
        for e in result.failed_episodes
        if e.failure is not None
    ]
    if failed:
        tables.insert(
            0,
            table(
                "Failed episodes",
                "ll",
                ["Episode", "Cause"],
                failed,
                anchor="episodes-failed",
                title=f"Failed episodes ({len(failed)})",
            ),
        )
    content: dict[str, Any] = {
        "texts": [],
        "wide_charts": charts,
        "charts": [],
        "tables": tables,
        "remarks": [],
    }
    return Section("episodes", "Episodes", "charts.html", content)


def _chart(comparison: Comparison) -> Chart:
    title = "Change of each episode's composite"
    lowest, highest = comparison.worst_changes[0], comparison.best_changes[0]
    words = (
        f"{len(comparison.improved)} improved, {len(comparison.regressed)} regressed, "
        f"{comparison.num_unchanged} unchanged; from {change(lowest.change)} "
        f"({lowest.episode_id}) to {change(highest.change)} ({highest.episode_id})"
    )
    markup = episode_chart(comparison.episodes, label=f"{title}: {words}", prefix="episode-changes")
    return Chart(title, Markup(markup), f"{words}.", "medium")


def _table(result: SuiteResult, comparison: Comparison | None) -> Table:
    episodes = {episode.episode_id: episode for episode in result.episodes}
    if comparison is None:
        scored = [e for e in result.episodes if e.failure is None]
        # Those without any score come first.
        scored.sort(key=lambda e: (-1.0 if e.score is None else e.score, e.episode_id))
        rows = [[e.episode_id, score(e.score), weakness(e, result)] for e in scored]
        header, align = ["Episode", "Score", "Weakest metric"], "lrl"
        title = f"All {len(rows)} episodes, lowest score first"
    else:
        ordered = sorted(comparison.episodes, key=lambda item: item.change)
        rows = [
            [
                item.episode_id,
                score(item.baseline),
                score(item.candidate),
                change(item.change),
                weakness(episodes[item.episode_id], result),
            ]
            for item in ordered
        ]
        header = ["Episode", "Baseline", "Candidate", "Change", "Candidate's weakest metric"]
        align = "lrrrl"
        title = f"All {len(rows)} episodes, lowest change first"
    return table("Episodes", align, header, rows, anchor="episodes-table", title=title)
