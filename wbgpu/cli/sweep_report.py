"""``wbgpu sweep-report``: the jobs of a sweep, ranked."""

from __future__ import annotations

from pathlib import Path

import click

from wbgpu import sdk
from wbgpu.aggregate.sweep import rank_sweep
from wbgpu.cli.artifacts import check_folder, save
from wbgpu.cli.sweep_jobs import read_statuses
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.job_status import STATUS_FILE, JobStatus, labels
from wbgpu.records.strict_json import to_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.sweep import LeftOut, SweepEntry, checkpoint_name, sweep_payload
from wbgpu.report.sweep_console import reason
from wbgpu.report.sweep_heat_map import heat_map
from wbgpu.report.sweep_markdown import sweep_lines, sweep_report


@click.command("sweep-report", short_help="Rank the jobs of a sweep (--multirun).")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    help="Job to compare with besides the best: its number, checkpoint name or override.",
)
@click.option(
    "--metric",
    help="Rank by this metric's mean. [default: composite, or expected_regret]",
)
@click.option(
    "--confidence-level",
    default=0.95,
    show_default=True,
    type=float,
    help="Level of each interval, and of ranks and words together.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Folder for the report. [default: the sweep's]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the ranking as JSON and nothing else.")
def command(
    folder: Path,
    baseline: str | None,
    metric: str | None,
    confidence_level: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Rank the jobs of a sweep by paired differences on the same episodes.

    Writes sweep_report.md, .json and .png (a heat map of metric x horizon). Exits with 2 when a job
    of the sweep is not done, or a status file in its folder is damaged.
    """
    check_folder(output or folder, "--output")
    found, damaged = read_statuses(folder)
    for error in damaged:
        click.echo(f"Error: {error}", err=True)
    jobs = _latest(found, folder)
    names = labels([status for _, status in jobs])
    entries, left_out = [], []
    for (place, status), label in zip(jobs, names, strict=True):
        entry = _entry(place, status, label)
        if isinstance(entry, SweepEntry):
            entries.append(entry)
        else:
            left_out.append(entry)
    ranking = rank_sweep(
        entries,
        left_out,
        metric=metric,
        baseline=None if baseline is None else _job_named(baseline, jobs, entries),
        level=confidence_level,
    )
    picture = heat_map(ranking)
    target = output or folder
    if picture is not None:
        target.mkdir(parents=True, exist_ok=True)
        (target / "sweep_report.png").write_bytes(picture)
    text = to_text(sweep_payload(ranking))
    report = sweep_report(
        ranking, folder.resolve().name, None if picture is None else "sweep_report.png"
    )
    saved = save(target, {"sweep_report.json": text, "sweep_report.md": report})
    if as_json:
        click.echo(text, nl=False)
    else:
        click.echo(sweep_lines(ranking))
        click.echo(f"\nSaved report: {saved['sweep_report.md']}")
    is_whole = not damaged and all(status.state == "done" for _, status in jobs)
    return 0 if is_whole else 2


def _latest(jobs: list[tuple[Path, JobStatus]], folder: Path) -> list[tuple[Path, JobStatus]]:
    """The jobs of the sweep that started last in this folder."""
    if not jobs:
        raise InputError(
            f"{folder}: no {STATUS_FILE} below it; expected the folder of a sweep, such as "
            "hydra.sweep.dir of wbgpu eval --multirun"
        )
    latest = max(jobs, key=lambda item: item[1].started_at)[1].sweep_id
    return [item for item in jobs if item[1].sweep_id == latest]


def _entry(folder: Path, status: JobStatus, label: str) -> SweepEntry | LeftOut:
    def without(why: str) -> LeftOut:
        return LeftOut(status.job, label, str(folder), status.state, why)

    if status.result is None:
        return without(reason(status))
    try:
        result = sdk.load_result(folder / status.result)
    except InputError as error:
        return without(str(error))
    if isinstance(result, SuiteResult) and result.result_type != "batch_evaluation":
        return without("a result of one pair of videos; sweeps are ranked over folders of episodes")
    return SweepEntry(status.job, label, str(folder), result)


def _job_named(name: str, jobs: list[tuple[Path, JobStatus]], entries: list[SweepEntry]) -> int:
    """Number of the job that ``--baseline`` names."""
    checkpoints = {entry.job: checkpoint_name(entry.result) for entry in entries}
    found = [
        status.job
        for _, status in jobs
        if name in (str(status.job), checkpoints.get(status.job), *status.overrides)
    ]
    if len(found) != 1:
        known = ", ".join(f"{status.job}" for _, status in jobs)
        raise ConfigurationError(
            f"--baseline: {name!r} names {len(found)} jobs of the sweep, expected one; give its "
            f"number: {known}"
        )
    return found[0]
