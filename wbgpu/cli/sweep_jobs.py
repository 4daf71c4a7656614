"""The jobs of a sweep: each has a folder and a status file, and none takes another with it."""

from __future__ import annotations

import math
import os
import socket
import time
import traceback
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wbgpu.errors import ConfigurationError, ResultFileError, WbgpuError
from wbgpu.records.job_status import (
    STATUS_FILE,
    JobError,
    JobStatus,
    parse_status,
    status_payload,
)
from wbgpu.records.strict_json import read_json, to_text, write_json
from wbgpu.report.sweep_console import finished_line, sweep_summary

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from wbgpu.cli.hydra_application import Job, Outcome, Run


def run_sweep_job(
    config: DictConfig, run: Run, job: Job, command: str, sweep_id: str
) -> float | None:
    """Run one job and keep its status file; nothing but an interrupt gets out of it.

    Returns:
        For an optimising sweeper: the job's finite value, or ``objective_if_failed`` without one.

    Raises:
        ConfigurationError: the job's folder is also another's, whose files it would replace.
        WbgpuError: the sweeper optimises, the job has no value and ``objective_if_failed`` is null.
    """
    from hydra.core.hydra_config import HydraConfig

    hydra_config = HydraConfig.get()
    # Not by the option's name: a target can be overridden alone.
    optimises = not str(hydra_config.sweeper._target_).endswith(".BasicSweeper")
    number = int(hydra_config.job.num)
    before = _status_in(run.folder)
    if before is not None and before.sweep_id == sweep_id and before.job != number:
        raise ConfigurationError(
            f"hydra.sweep.subdir: jobs {before.job} and {number} of the sweep would both write to "
            f"{run.folder}; name it by the job: 'hydra.sweep.subdir=${{hydra:job.num}}'"
        )
    if config.get("resume") and before is not None and _is_done(before, run):
        kept = replace(before, sweep_id=sweep_id)
        _write(run.folder, kept)
        click.echo(f"Job {kept.job}: kept, as it was done", err=True)
        return kept.scalar
    started = time.monotonic()
    status = JobStatus(
        command=command,
        sweep_id=sweep_id,
        job=number,
        overrides=run.overrides,
        state="running",
        started_at=datetime.now(timezone.utc).isoformat(),
        host=socket.gethostname(),
        pid=os.getpid(),
    )
    _write(run.folder, status)
    failure: Exception | None = None
    if_failed: float | None = None
    try:
        if_failed = _if_failed(config)
        outcome = job(config, run)
        status = _ended(status, outcome, optimises=optimises)
    except (WbgpuError, OSError) as error:
        failure = error
        problem = JobError(type(error).__name__, str(error))
        status = replace(status, state="failed", exit_code=2, error=problem)
    except Exception as error:
        failure = error
        problem = JobError(type(error).__name__, str(error), traceback.format_exc())
        status = replace(status, state="failed", exit_code=70, error=problem)
    except BaseException as error:
        problem = JobError(type(error).__name__, str(error))
        status = replace(status, state="interrupted", exit_code=130, error=problem)
        raise
    finally:
        status = replace(status, seconds=time.monotonic() - started)
        _write(run.folder, status)
        click.echo(finished_line(status, run.arguments), err=True)
    if status.scalar is not None or not optimises:
        return status.scalar
    if if_failed is None:
        raise failure or ConfigurationError(
            f"job {status.job} has no value to give to the sweeper; say what a job without one "
            "counts as: objective_if_failed=..."
        )
    return if_failed


def end_of_sweep(folder: Path, sweep_id: str, *, as_json: bool) -> int:
    """Print what became of the jobs of a sweep, and return its exit code."""
    found, _ = read_statuses(folder)
    jobs = [(place, status) for place, status in found if status.sweep_id == sweep_id]
    if not jobs:
        return 0  # Refused before the first one, which the error says.
    if as_json:
        documents = [{"folder": str(place), **status_payload(status)} for place, status in jobs]
        click.echo(to_text({"sweep_folder": str(folder), "jobs": documents}), nl=False)
    else:
        click.echo(sweep_summary(folder, [status for _, status in jobs]))
    # A job that still runs, or whose process was killed, is not done.
    return max((2 if s.exit_code is None else s.exit_code for _, s in jobs), default=0)


def read_statuses(
    folder: Path,
) -> tuple[list[tuple[Path, JobStatus]], list[ResultFileError]]:
    """Folder and status of every job below ``folder``, by number; what is damaged, apart."""
    jobs, damaged = [], []
    for path in folder.rglob(STATUS_FILE):
        try:
            status = parse_status(read_json(path), path)
        except ResultFileError as error:
            if error.json_path == "$.schema_version":
                continue  # Another program's file of that name.
            damaged.append(error)
            continue
        if status.state == "running" and _is_gone(status):
            status = replace(status, state="killed")
        jobs.append((path.parent, status))
    return sorted(jobs, key=lambda item: (item[1].job, item[0])), damaged


def _status_in(folder: Path) -> JobStatus | None:
    path = folder / STATUS_FILE
    try:
        return parse_status(read_json(path), path)
    except ResultFileError:
        return None


def _is_done(status: JobStatus, run: Run) -> bool:
    """Whether an earlier sweep in this folder has done this very job."""
    settings = [
        {override for override in overrides if not override.startswith("resume=")}
        for overrides in (status.overrides, run.overrides)
    ]
    has_result = status.result is not None and (run.folder / status.result).is_file()
    return status.state == "done" and has_result and settings[0] == settings[1]


def _if_failed(config: DictConfig) -> float | None:
    value = config.objective_if_failed
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise ConfigurationError(
            f"objective_if_failed: expected a finite number or null, got {value!r}"
        )
    return float(value)


def _ended(status: JobStatus, outcome: Outcome, *, optimises: bool) -> JobStatus:
    is_done = outcome.exit_code == 0
    has_value = outcome.value is not None and math.isfinite(outcome.value)
    if is_done and optimises and not has_value:
        raise ConfigurationError(
            f"objective: an optimising sweeper needs a finite number, got {outcome.value}; choose "
            "another objective, or metrics that it needs"
        )
    return replace(
        status,
        state="done" if is_done else "incomplete",
        exit_code=outcome.exit_code,
        result=outcome.result,
        # Of the episodes that could be scored, which may be the easy ones.
        scalar=outcome.value if is_done and has_value else None,
    )


def _is_gone(status: JobStatus) -> bool:
    if status.host != socket.gethostname():
        return False
    try:
        os.kill(status.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _write(folder: Path, status: JobStatus) -> None:
    write_json(folder / STATUS_FILE, status_payload(status))
