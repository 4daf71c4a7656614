"""The report of a sweep: which job is best, which cannot be told from it, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wbgpu.records.sweep import HorizonChanges, PairedChange, RankedJob, SweepRanking
from wbgpu.report.numbers import quantity, setting, signed_quantity
from wbgpu.report.ranking import rank_text
from wbgpu.report.sweep_standard_errors import LIMIT, standardised
from wbgpu.report.tables import aligned, escape, table
from wbgpu.report.text import one_line

_WORDS = {
    "better": "better",
    "worse": "worse",
    "level": "not told apart",
    "unknown": "too few episodes",
}


def sweep_report(ranking: SweepRanking, title: str, picture: str | None) -> str:
    """Markdown.

    Args:
        ranking: of the sweep.
        title: its name, such as the folder's.
        picture: file name of the heat map beside the report, or ``None``.
    """
    has_baseline = ranking.baseline_job is not None
    header = ["Rank", "Job", "Overrides", "Checkpoint", "Mean", "Change to the best"]
    header += ["Change to the baseline"] if has_baseline else []
    lines = [f"# Sweep {escape(title)}", "", *map(escape, _findings(ranking)), ""]
    lines += ["## Ranking", ""]
    rows = []
    for job in ranking.jobs:
        cells = [rank_text(job.best_rank, job.worst_rank), str(job.job)]
        cells += [escape(job.label), escape(job.checkpoint_name)]
        cells += [
            quantity(job.mean, ranking.unit),
            change_text(job.against_best, ranking.unit, "best"),
        ]
        if has_baseline:
            cells.append(change_text(job.against_baseline, ranking.unit, "baseline"))
        rows.append(cells)
    lines += table("rrllrr" + "r" * has_baseline, header, rows)
    lines += [*_method(ranking), ""]
    if ranking.left_out:
        lines += ["## Not ranked", ""]
        lines += table(
            "rlll",
            ["Job", "Overrides", "State", "Reason"],
            [
                [str(job.job), escape(job.label), job.state, escape(job.reason)]
                for job in ranking.left_out
            ],
        )
    if ranking.horizons:
        lines += ["## Where the jobs differ", ""]
        if picture is not None:
            lines += [f"![metric x horizon]({picture})", ""]
        lines += [*_horizon_note(ranking), ""]
        lines += table("lll", ["Job", "Most better", "Most worse"], _extremes(ranking))
    return "\n".join(lines)


def sweep_lines(ranking: SweepRanking) -> str:
    """The ranking on the console."""
    header = ["Rank", "Job", "Mean", "Change to the best", "Overrides"]
    rows = [
        [
            rank_text(job.best_rank, job.worst_rank),
            str(job.job),
            quantity(job.mean, ranking.unit),
            change_text(job.against_best, ranking.unit, "best"),
            one_line(job.label),
        ]
        for job in ranking.jobs
    ]
    if ranking.baseline_job is not None:
        header.insert(4, "Change to the baseline")
        for row, job in zip(rows, ranking.jobs, strict=True):
            row.insert(4, change_text(job.against_baseline, ranking.unit, "baseline"))
    lines = [*map(one_line, _findings(ranking)), ""]
    lines += aligned([header, *rows], "r" * (len(header) - 1) + "l")
    lines += ["", *_method(ranking)]
    if ranking.left_out:
        lines += ["", "Not ranked:"]
        lines += [
            one_line(f"  job {job.job} ({job.label}): {job.state}: {job.reason}")
            for job in ranking.left_out
        ]
    return "\n".join(lines)


def change_text(change: PairedChange | None, unit: str, reference: str) -> str:
    """Such as ``-0.31 (-0.50 to -0.12), worse``; the reference's name where it is that itself."""
    if change is None:
        return reference
    text = signed_quantity(change.mean, unit)
    if change.lower is not None and change.upper is not None:
        bounds = (signed_quantity(bound, unit) for bound in (change.lower, change.upper))
        text += f" ({' to '.join(bounds)})"
    return f"{text}, {_WORDS[change.standing]}"


def _findings(ranking: SweepRanking) -> Iterator[str]:
    best = ranking.jobs[0]
    direction = "higher" if ranking.higher_is_better else "lower"
    yield (
        f"Best of {len(ranking.jobs)} by {ranking.metric} ({ranking.unit}, {direction} is better): "
        f"{_named(best)}, mean {quantity(best.mean, ranking.unit)} over "
        f"{len(ranking.episode_ids)} episodes."
    )
    level = [j for j in ranking.jobs[1:] if j.against_best and j.against_best.standing != "worse"]
    if level:
        yield (
            "These episodes do not tell it from: " + "; ".join(_named(job) for job in level) + "."
        )
    elif len(ranking.jobs) > 1:
        yield "Every other ranked job is worse."
    if ranking.left_out:
        yield f"{len(ranking.left_out)} of {_num_jobs(ranking)} jobs are not ranked."


def _method(ranking: SweepRanking) -> Iterator[str]:
    if len(ranking.jobs) < 2:
        return
    yield (
        f"In brackets: {setting(100 * ranking.level)}% intervals of each mean paired change over "
        f"{len(ranking.episode_ids)} episodes. Words and ranks count differences that are "
        "significant among all pairs of jobs (paired sign flips, step-down max-T), since these "
        "episodes also chose the best; fewer than six episodes are not tested."
    )


def _horizon_note(ranking: SweepRanking) -> Iterator[str]:
    yield (
        f"Mean paired change of every metric over steps 1 to t against job "
        f"{ranking.horizon_reference_job}. Single cells are many, and not corrected for that: read "
        "patterns. The extremes of each job, in the metric's unit and, in brackets, in standard "
        "errors, which are positive where the job is better:"
    )


def _extremes(ranking: SweepRanking) -> Iterator[list[str]]:
    for job in ranking.jobs:
        rows = ranking.horizons.get(job.job, {})
        cells = [
            (ratio if row.higher_is_better else -ratio, name, horizon)
            for name, row in rows.items()
            for horizon, ratio in enumerate(standardised(row), 1)
            if ratio is not None
        ]
        if cells:
            # The earliest of equals.
            best = max(cells, key=lambda cell: (cell[0], -cell[2]))
            worst = min(cells, key=lambda cell: (cell[0], cell[2]))
            yield [
                escape(_named(job)),
                _cell(rows, *best) if best[0] > 0 else "nowhere",
                _cell(rows, *worst) if worst[0] < 0 else "nowhere",
            ]


def _cell(rows: Mapping[str, HorizonChanges], ratio: float, name: str, horizon: int) -> str:
    row = rows[name]
    mean = row.changes[horizon - 1]
    assert mean is not None
    size = f"beyond {ratio:+.0f}" if abs(ratio) == LIMIT else f"{ratio:+.1f}"
    unit = f"{row.unit}, {'higher' if row.higher_is_better else 'lower'} is better"
    return f"{escape(name)} at t+{horizon}: {signed_quantity(mean, row.unit)} {unit} ({size})"


def _named(job: RankedJob) -> str:
    return f"job {job.job} ({job.label})"


def _num_jobs(ranking: SweepRanking) -> int:
    return len(ranking.jobs) + len(ranking.left_out)
