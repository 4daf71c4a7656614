"""What the evaluating commands share: options, preparation, and what a result's exit code is."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wbgpu.cli.own_modules import modules_of_this_folder
from wbgpu.errors import InputError
from wbgpu.records.project_file import ProjectFile, load_project_file
from wbgpu.records.strict_json import write_text
from wbgpu.records.suite import SuiteResult
from wbgpu.records.timeline import NO_TIMELINE, Timeline
from wbgpu.report.throughput import throughput_summary

if TYPE_CHECKING:
    from wbgpu.evaluation.request import EvaluationRequest

Command = TypeVar("Command", bound=Callable[..., Any])


def evaluating_options(command: Command) -> Command:
    """Add the options that every evaluating command has; flags that are not given are ``None``."""
    for decorate in (
        click.argument("overrides", nargs=-1),
        click.option(
            "--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else."
        ),
        click.option(
            "--config",
            "config_path",
            type=click.Path(path_type=Path),
            help="wbgpu.yml; looked for in the current folder.",
        ),
        click.option("--device", help="auto, cpu, cuda or cuda:N.  [default: auto]"),
        click.option(
            "--skip-context",
            type=int,
            help="Leading context frames that are not scored.  [default: 0]",
        ),
    ):
        command = decorate(command)
    return command


def prepare(
    values: Mapping[str, Any],
    config_path: Path | None,
    overrides: Sequence[str],
    notes: tuple[str, ...] = (),
    run_folder: Path | None = None,
) -> tuple[EvaluationRequest, ProjectFile]:
    """The checked request of a command, and the project file that it used.

    Args:
        values: configuration values of the flags by dotted key; ``None`` for flags not given.
        config_path: ``--config``.
        overrides: Hydra overrides.
        notes: remarks that go into the result.
        run_folder: where the journal is kept until the result is saved; ``None``: there is none.
    """
    project = load_project_file(config_path)
    with quick_imports():
        from wbgpu.evaluation.configuration import compose, request_from

    config = compose(
        overrides,
        {key: value for key, value in values.items() if value is not None},
        defaults=project_values(project),
    )
    command_line = click.get_current_context().find_root().obj
    with modules_of_this_folder():
        request = request_from(config, project.path, notes, command_line, run_folder=run_folder)
    return request, project


def run_request(request: EvaluationRequest, *, show_progress: bool) -> tuple[SuiteResult, Timeline]:
    """Run what :func:`prepare` made; the timeline is on if the request asks for it.

    Where a launcher has started several processes, rank 0 alone writes and prints the result: the
    others exit here.
    """
    with quick_imports():
        from wbgpu.evaluation.ranks import environment_ranks, is_started_by_others
        from wbgpu.evaluation.run import run

    timeline = Timeline() if request.measures_stages else NO_TIMELINE
    ranks = environment_ranks(request.process_backend) if is_started_by_others() else None
    is_first = ranks is None or ranks.rank == 0
    if request.resume and is_first:
        assert request.journal is not None
        found = "Resuming from" if request.journal.exists() else "Starting anew; there is no"
        click.echo(f"{found} {request.journal}", err=True)
    result = run(request, ranks=ranks, show_progress=show_progress and is_first, timeline=timeline)
    if not is_first:
        raise SystemExit(2 if _problems(result) else 0)
    return result, timeline


def discard_journal(request: EvaluationRequest) -> None:
    """Now that the result is saved, delete the journal unless the user has named it."""
    from wbgpu.evaluation.journal import remove_journal

    if request.journal is not None and not request.keeps_journal:
        remove_journal(request.journal)


def report_throughput(timeline: Timeline, folder: Path, *, as_json: bool) -> None:
    """Print the table of a timeline that is on, and save its trace; beside JSON, to stderr."""
    table = save_throughput(timeline, folder)
    if table is not None:
        click.echo(table, err=as_json)


def save_throughput(timeline: Timeline, folder: Path) -> str | None:
    """Save the trace of a timeline that is on; returns its table, which names the file."""
    if not timeline.is_on:
        return None
    path = write_text(folder / "trace.json", json.dumps(timeline.trace()) + "\n")
    return f"\n{throughput_summary(timeline)}\nSaved trace: {path}"


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import inside without garbage collection, and keep what was imported out of it for good.

    Importing torch, torchmetrics and Lightning makes a million lasting objects; walking through
    them again and again takes 0.7 s, and once more at exit 0.9 s.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


def refuse_folders(*paths: tuple[Path, str]) -> None:
    """Refuse folders where one video is meant; ``paths`` are with their flags."""
    for path, flag in paths:
        if path.is_dir():
            raise InputError(f"{flag}: {path} is a folder; score folders with eval-batch")


def project_values(project: ProjectFile) -> dict[str, Any]:
    """The project file's composite as configuration values; none when there is no file."""
    if project.path is None:
        return {}
    return {
        f"composite.{name}.{key}": getattr(setting, key)
        for name, setting in project.profile.metrics.items()
        for key in ("enabled", "required", "weight")
    }


def exit_code(result: SuiteResult) -> int:
    """0, or 2 after saying on standard error what is missing from the result."""
    problems = _problems(result)
    if not problems:
        return 0
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    num_failed = len(result.failed_episodes)
    click.echo(
        f"Error: {num_failed} of {len(result.episodes)} episodes could not be scored, "
        f"{len(problems) - num_failed} metric values are missing by error; the result records "
        "them and no gate passes an episode that could not be scored.",
        err=True,
    )
    return 2


def _problems(result: SuiteResult) -> list[str]:
    """Episodes without scores, then metrics without a value by error."""
    problems = [
        f"{episode.episode_id}: {episode.failure.message}"
        for episode in result.episodes
        if episode.failure is not None
    ]
    return problems + [
        f"{episode.episode_id}: {outcome.name}: {outcome.error_type}: {outcome.reason}"
        for episode in result.episodes
        for outcome in episode.metrics.values()
        if outcome.status == "error"
    ]
