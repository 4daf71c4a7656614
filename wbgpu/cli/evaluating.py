"""What the evaluating commands share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from wbgpu.records.project_file import ProjectFile
from wbgpu.records.suite import SuiteResult


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
    """0, or 2 after saying on standard error that episodes are missing from the result."""
    failed = result.failed_episodes
    if not failed:
        return 0
    for episode in failed:
        assert episode.failure is not None
        click.echo(f"Error: {episode.episode_id}: {episode.failure.message}", err=True)
    click.echo(
        f"Error: {len(failed)} of {len(result.episodes)} episodes could not be scored; "
        "the result records them and no gate passes it.",
        err=True,
    )
    return 2
