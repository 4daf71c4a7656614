"""What became of one job of a sweep: the file ``status.json`` in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from wbgpu.records.node import Node

STATUS_FILE = "status.json"
STATUS_SCHEMA_VERSION = "1"

JobState = Literal["running", "done", "incomplete", "failed", "interrupted", "killed"]
"""``incomplete`` has a result that lacks episodes or values by error; ``failed`` and
``interrupted`` have none. A killed process leaves ``running`` behind; who reads it makes that
``killed``."""


@dataclass(frozen=True)
class JobError:
    """Why a job has no result.

    Attributes:
        error_type: exception class name.
        message: as it was printed.
        traceback: of a fault in wbgpu or in the user's code; ``None`` for errors that say it all.
    """

    error_type: str
    message: str
    traceback: str | None = None


@dataclass(frozen=True)
class JobStatus:
    """One job of a sweep, at its start and at its end.

    Attributes:
        command: ``eval`` or ``regret``.
        sweep_id: the same for all jobs of one sweep, also where a folder is used again.
        job: its number, from 0.
        overrides: Hydra overrides of this job.
        started_at: UTC, ISO 8601.
        host, pid: where it runs.
        seconds: wall time; ``None`` while it runs.
        exit_code: what the command alone would exit with; ``None`` while it runs.
        scalar: what an optimising sweeper was given, finite; ``None`` where there is none.
        result: the result's file name in the job's folder.
    """

    command: str
    sweep_id: str
    job: int
    overrides: tuple[str, ...]
    state: JobState
    started_at: str
    host: str
    pid: int
    seconds: float | None = None
    exit_code: int | None = None
    scalar: float | None = None
    result: str | None = None
    error: JobError | None = None


def labels(statuses: Sequence[JobStatus]) -> list[str]:
    """What tells each job from the others: its overrides without those that all of them have."""
    common = set.intersection(*(set(status.overrides) for status in statuses)) if statuses else ()
    return [
        " ".join(override for override in status.overrides if override not in common)
        or f"job {status.job}"
        for status in statuses
    ]


def status_payload(status: JobStatus) -> dict[str, Any]:
    """The document of a status."""
    error = status.error
    return {
        "schema_version": STATUS_SCHEMA_VERSION,
        "command": status.command,
        "sweep_id": status.sweep_id,
        "job": status.job,
        "overrides": list(status.overrides),
        "state": status.state,
        "exit_code": status.exit_code,
        "scalar": status.scalar,
        "result": status.result,
        "error": None
        if error is None
        else {
            "type": error.error_type,
            "message": error.message,
            "traceback": error.traceback,
        },
        "started_at": status.started_at,
        "seconds": status.seconds,
        "host": status.host,
        "pid": status.pid,
    }


def parse_status(document: Any, path: str | Path) -> JobStatus:
    """Read a document.

    Args:
        document: parsed JSON (:func:`wbgpu.records.strict_json.read_json`).
        path: the file, named in errors.

    Raises:
        ResultFileError: a key is missing or of the wrong type, or the schema is not known.
    """
    root = Node(document, "$", path)
    root["schema_version"].one_of(STATUS_SCHEMA_VERSION)
    state: Any = root["state"].one_of(*get_args(JobState))
    error, code = root.get("error"), root.get("exit_code")
    return JobStatus(
        command=root["command"].string(),
        sweep_id=root["sweep_id"].string(),
        job=root["job"].integer(),
        overrides=root["overrides"].strings(),
        state=state,
        started_at=root["started_at"].string(),
        host=root["host"].string(),
        pid=root["pid"].integer(),
        seconds=root.optional_number("seconds"),
        exit_code=None if code is None else code.integer(),
        scalar=root.optional_number("scalar"),
        result=root.optional_string("result"),
        error=None
        if error is None
        else JobError(
            error["type"].string(),
            error["message"].string(),
            error.optional_string("traceback"),
        ),
    )
