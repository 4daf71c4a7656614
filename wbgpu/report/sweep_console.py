"""A sweep on the console: a line per job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from wbgpu.records.job_status import JobStatus, labels
from wbgpu.report.numbers import ABSENT, quantity
from wbgpu.report.tables import aligned
from wbgpu.report.text import one_line


def finished_line(status: JobStatus, arguments: Sequence[str]) -> str:
    """What is said when a job ends.

    Args:
        status: of the job.
        arguments: of the sweep, which name what all jobs have in common.
    """
    own = " ".join(override for override in status.overrides if override not in arguments)
    line = f"Job {status.job}: {status.state} after {status.seconds or 0:.1f} s"
    line += f" ({own})" if own else ""
    return one_line(line) if status.error is None else one_line(f"{line}: Error: {reason(status)}")


def sweep_summary(folder: Path, statuses: Sequence[JobStatus]) -> str:
    """The lines that end a sweep."""
    names = labels(statuses)
    rows = [
        ["Job", "State", "Value", "Seconds", "Overrides"],
        *(
            [
                str(status.job),
                status.state,
                quantity(status.scalar, ""),
                ABSENT if status.seconds is None else f"{status.seconds:.1f}",
                one_line(names[index]),
            ]
            for index, status in enumerate(statuses)
        ),
    ]
    lines = aligned(rows, "rlrrl")
    problems = [s for s in statuses if s.state != "done"]
    if problems:
        lines += ["", *(one_line(f"Job {s.job}: {reason(s)}") for s in problems)]
    counts = Counter(status.state for status in statuses)
    lines += ["", f"{counts['done']} of {len(statuses)} jobs done", f"Sweep: {folder}"]
    if sum(status.result is not None for status in statuses) > 1:
        lines.append(f"Ranking: wbgpu sweep-report {folder}")
    return "\n".join(lines)


def reason(status: JobStatus) -> str:
    """Why a job is not done; empty where it is."""
    if status.error is not None:
        return f"{status.error.error_type}: {status.error.message}"
    if status.state == "incomplete":
        return "some episodes or values are missing by error; the job's report names them"
    process = f"process {status.pid} on {status.host}, started {status.started_at}"
    if status.state == "running":
        return f"it runs, or was killed where this cannot be seen from here ({process})"
    return f"its process is gone ({process})" if status.state == "killed" else ""
