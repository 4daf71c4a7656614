from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wbgpu.errors import ResultFileError
from wbgpu.records.job_status import JobError, JobStatus, labels, parse_status, status_payload

STATUS = JobStatus(
    command="eval",
    sweep_id="ab",
    job=3,
    overrides=("a=1", "b=2"),
    state="failed",
    started_at="2026-01-01T00:00:00+00:00",
    host="node1",
    pid=7,
    seconds=1.5,
    exit_code=70,
    error=JobError("RuntimeError", "boom", "Traceback ..."),
)


@pytest.mark.parametrize(
    "status",
    [
        STATUS,
        replace(STATUS, error=None, state="done", exit_code=0, scalar=87.5, result="batch.json"),
        replace(STATUS, error=None, state="running", exit_code=None, seconds=None),
    ],
)
def test_what_is_written_is_read(status: JobStatus) -> None:
    """A report made on another day knows of a job what its file says."""
    document = json.loads(json.dumps(status_payload(status)))
    assert parse_status(document, "status.json") == status


@pytest.mark.parametrize(
    ("key", "value"),
    [("state", "good"), ("job", -1), ("scalar", "x"), ("overrides", [1]), ("schema_version", "9")],
)
def test_a_damaged_status_is_refused_by_place(key: str, value: object) -> None:
    """A job with a garbled state must not pass for a finished one."""
    document = status_payload(STATUS) | {key: value}
    with pytest.raises(ResultFileError, match=rf"status.json: \$\.{key}"):
        parse_status(document, "status.json")


def test_labels_are_what_jobs_do_not_have_in_common() -> None:
    """Twenty equal settings before the one that differs hide it."""
    jobs = [replace(STATUS, job=job, overrides=("a=1", f"b={job}")) for job in range(2)]
    assert labels(jobs) == ["b=0", "b=1"]


def test_equal_jobs_are_told_apart_by_number() -> None:
    """An optimiser tries a setting twice."""
    assert labels([STATUS, replace(STATUS, job=4)]) == ["job 3", "job 4"]
    assert labels([]) == []
