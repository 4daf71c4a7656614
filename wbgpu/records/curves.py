"""A metric over horizons, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wbgpu.records.comparison import View

Source = Literal["baseline", "candidate", "persistence"]


@dataclass(frozen=True)
class CurvePoint:
    """Episodes at one horizon.

    Attributes:
        horizon: 1-based.
        value: mean or median over the episodes that have one, in the metric's unit.
        lower, upper: ends of the interval; ``None`` for too few episodes.
        count: episodes.
    """

    horizon: int
    value: float
    lower: float | None
    upper: float | None
    count: int


@dataclass(frozen=True)
class Curve:
    """One source's values of one metric in one view.

    Attributes:
        metric: its name.
        view: ``prefix`` (steps 1..t) or ``step`` (step t alone).
        source: whose; ``persistence`` is a copy of the last context frame.
        statistic: what is taken over episodes; ``same`` for a value that is the same for all.
        points: by horizon; horizons without a value are left out.
    """

    metric: str
    view: View
    source: Source
    statistic: Literal["mean", "median", "same"]
    points: tuple[CurvePoint, ...]
