from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wbgpu.records.job_status import JobError, JobStatus
from wbgpu.report.sweep_console import finished_line, reason, sweep_summary

DONE = JobStatus(
    command="eval",
    sweep_id="ab",
    job=0,
    overrides=("a=1", "b=0"),
    state="done",
    started_at="2026-01-01T00:00:00+00:00",
    host="node1",
    pid=7,
    seconds=1.25,
    exit_code=0,
    scalar=87.512,
    result="batch.json",
)
FAILED = replace(
    DONE,
    job=1,
    overrides=("a=1", "b=1"),
    state="failed",
    exit_code=2,
    scalar=None,
    result=None,
    error=JobError("InputError", "no\nfolder"),
)


def test_a_summary_has_a_line_per_job_and_says_why_one_failed() -> None:
    """Read after a night of jobs: which ran, which did not, and where everything is."""
    text = sweep_summary(Path("sweep"), [DONE, FAILED])
    assert text.splitlines() == [
        "Job  State   Value  Seconds  Overrides",
        "  0  done    87.51      1.2  b=0",
        "  1  failed    N/A      1.2  b=1",
        "",
        r"Job 1: InputError: no\nfolder",
        "",
        "1 of 2 jobs done",
        "Sweep: sweep",
    ]


def test_a_ranking_is_offered_where_there_is_something_to_rank() -> None:
    assert "wbgpu sweep-report sweep" in sweep_summary(Path("sweep"), [DONE, DONE])


def test_a_job_that_ends_says_so_in_one_line() -> None:
    """Only what the sweep's own arguments do not say is repeated."""
    arguments = ("a=1", "b=0,1")
    assert finished_line(DONE, arguments) == "Job 0: done after 1.2 s (b=0)"
    line = finished_line(FAILED, arguments)
    assert line == r"Job 1: failed after 1.2 s (b=1): Error: InputError: no\nfolder"


def test_every_state_but_done_has_a_reason() -> None:
    """A row without a result and without a reason leaves its reader alone."""
    assert reason(DONE) == ""
    assert "missing by error" in reason(replace(DONE, state="incomplete"))
    for state in ("running", "killed"):
        assert "process 7 on node1" in reason(replace(DONE, state=state))
