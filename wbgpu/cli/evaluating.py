"""What the evaluating commands share: options, preparation, and what a result's exit code is."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

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
) -> tuple[EvaluationRequest, ProjectFile]:
    """The checked request of a command, and the project file that it used.

    Args:
        values: configuration values of the flags by dotted key; ``None`` for flags not given.
        config_path: ``--config``.
        overrides: Hydra overrides.
        notes: remarks that go into the result.
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
    return request_from(config, project.path, notes, command_line), project


def run_request(request: EvaluationRequest, *, show_progress: bool) -> tuple[SuiteResult, Timeline]:
    """Run what :func:`prepare` made; the timeline is on if the request asks for it."""
    with quick_imports():
        from wbgpu.evaluation.run import run

    timeline = Timeline() if request.measures_stages else NO_TIMELINE
    return run(request, show_progress=show_progress, timeline=timeline), timeline


def report_throughput(timeline: Timeline, folder: Path, *, as_json: bool) -> None:
    """Print the table of a timeline that is on, and save its trace; beside JSON, to stderr."""
    if not timeline.is_on:
        return
    path = write_text(folder / "trace.json", json.dumps(timeline.trace()) + "\n")
    click.echo(f"\n{throughput_summary(timeline)}\nSaved trace: {path}", err=as_json)


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
    problems = [
        f"{episode.episode_id}: {episode.failure.message}"
        for episode in result.episodes
        if episode.failure is not None
    ]
    num_failed = len(problems)
    problems += [
        f"{episode.episode_id}: {outcome.name}: {outcome.error_type}: {outcome.reason}"
        for episode in result.episodes
        for outcome in episode.metrics.values()
        if outcome.status == "error"
    ]
    if not problems:
        return 0
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    click.echo(
        f"Error: {num_failed} of {len(result.episodes)} episodes could not be scored, "
        f"{len(problems) - num_failed} metric values are missing by error; the result records "
        "them and no gate passes an episode that could not be scored.",
        err=True,
    )
    return 2
