"""Changes of a sweep in standard errors, which metrics of every unit have in common."""

from __future__ import annotations

from wbgpu.records.sweep import HorizonChanges

LIMIT = 10.0
"""Standard errors beyond which more of them say nothing more."""


def standardised(row: HorizonChanges) -> list[float | None]:
    """Change / standard error at every horizon, at most :data:`LIMIT` in magnitude."""
    return [
        None if change is None or error is None else _ratio(change, error)
        for change, error in zip(row.changes, row.standard_errors, strict=True)
    ]


def _ratio(change: float, error: float) -> float:
    # The error is zero where all episodes change alike.
    if error * LIMIT <= abs(change):
        return 0.0 if change == 0 else LIMIT if change > 0 else -LIMIT
    return change / error
