"""One value that is known from elsewhere, beside what this installation computes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownValue:
    """One comparison.

    Attributes:
        subject: what is computed.
        source: where the expected value comes from.
        unit: of both.
        expected: the known value.
        got: the computed value.
        tolerance: how far apart they may be: half a digit of a published value, rounding of a
            closed form.
    """

    subject: str
    source: str
    unit: str
    expected: float
    got: float
    tolerance: float

    @property
    def difference(self) -> float:
        """``got - expected``."""
        return self.got - self.expected

    @property
    def agrees(self) -> bool:
        """Whether the two agree; a NaN never does."""
        return abs(self.difference) <= self.tolerance
