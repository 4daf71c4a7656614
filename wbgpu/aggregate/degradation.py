"""Does a metric get worse as a fault gets worse, and how clearly?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.records.corruption import MeasuredMetric, OrderingVerdict, Response

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
"""Of the intervals that say from which severity on a fault is seen."""

MAX_STANDARDISED = 99.0
"""Changes that are the same in every episode have no spread to be measured by."""

_RELATIVE_TOLERANCE = 1e-9


def response(
    measured: MeasuredMetric, severities: Sequence[float], *, higher_is_better: bool
) -> Response:
    """How a metric responds to a corruption.

    Args:
        measured: its values.
        severities: S, rising, the first is 0.
        higher_is_better: the metric's direction.
    """
    rows = [row for row in measured.values if None not in row]
    if not rows:
        return Response("unavailable", 0)
    values = np.array(rows, np.float64)
    badness = -values if higher_is_better else values
    # What is smaller than this is rounding.
    tolerance = _RELATIVE_TOLERANCE * max(1.0, float(np.abs(values).max()))
    changes = badness - badness[:, :1]
    changes[np.abs(changes) <= tolerance] = 0.0
    degradations = changes.mean(axis=0)
    steps = np.diff(degradations)
    standardised = [_standardised(column) for column in changes.T]
    taus = [tau for row in changes.tolist() if (tau := kendall_tau_b(severities, row)) is not None]
    known = [ratio for ratio in standardised[1:] if ratio is not None]
    return Response(
        verdict=_verdict(degradations, steps, tolerance),
        num_episodes=len(rows),
        means=tuple(values.mean(axis=0).tolist()),
        degradations=tuple(degradations.tolist()),
        standardised=tuple(standardised),
        num_worse=tuple((changes > 0).sum(axis=0).tolist()),
        kendall_tau=math.fsum(taus) / len(taus) if taus else None,
        failures=tuple((np.flatnonzero(steps < -tolerance) + 1).tolist()),
        first_seen=next(
            (s for s, column in zip(severities, changes.T, strict=True) if _is_worse(column)), None
        ),
        first_rewarded=next(
            (s for s, column in zip(severities, changes.T, strict=True) if _is_worse(-column)), None
        ),
        sensitivity=math.fsum(known) / len(known) if known else None,
    )


def kendall_tau_b(severities: Sequence[float], badness: Sequence[float]) -> float | None:
    """Kendall's tau-b (Kendall, Biometrika 33, 1945) of two rows of numbers, -1 to 1.

    Pairs that agree in order, less those that disagree, over the geometric mean of the numbers of
    pairs that are not tied in each row; ``None`` where all of a row are tied.
    """
    pairs = list(combinations(zip(severities, badness, strict=True), 2))
    first = [_sign(b[0] - a[0]) for a, b in pairs]
    second = [_sign(b[1] - a[1]) for a, b in pairs]
    untied = sum(map(abs, first)) * sum(map(abs, second))
    if not untied:
        return None
    return sum(x * y for x, y in zip(first, second, strict=True)) / math.sqrt(untied)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _verdict(degradations: Floats, steps: Floats, tolerance: float) -> OrderingVerdict:
    if (np.abs(degradations) <= tolerance).all():
        return "blind"
    if (degradations < -tolerance).any():
        return "rewarded"
    if (steps < -tolerance).any():
        return "misordered"
    return "ordered" if (steps > tolerance).all() else "level"


def _standardised(changes: Floats) -> float | None:
    if len(changes) < 2:
        return None
    mean, deviation = float(changes.mean()), float(changes.std(ddof=1))
    if mean == 0:
        return 0.0
    if abs(mean) >= MAX_STANDARDISED * deviation:
        return math.copysign(MAX_STANDARDISED, mean)
    return mean / deviation


def _is_worse(changes: Floats) -> bool:
    ratio = _standardised(changes)
    if ratio is None or ratio <= 0:
        return False
    return ratio * math.sqrt(len(changes)) > two_sided_t(LEVEL, len(changes) - 1)
