"""Paired differences, and the units that they are independent over.

Differences of episodes in one scene or of one task move together, so not episodes but *clusters*
are the independent units. The estimate stays the mean over episodes; its standard error is that of
a ratio of cluster sums (Cochran, Sampling Techniques, 1977, section 6.3), with as many units as
there are clusters. Without clusters every episode is its own unit, and it is the usual standard
error of a mean.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairedSample:
    """Differences, added up by unit.

    Attributes:
        sums: ``[G]``, sum of the differences in each unit; in any unit of measurement.
        counts: ``[G]``, episodes in each unit, at least 1.
    """

    sums: Floats
    counts: Floats

    @staticmethod
    def of(changes: Sequence[float], clusters: Sequence[Hashable] | None = None) -> PairedSample:
        """Group ``changes``.

        Args:
            changes: candidate - baseline of each episode; at least one, finite.
            clusters: the unit of each episode, in the same order; ``None`` makes each its own.

        Raises:
            ConfigurationError: no change, one that is not finite, or not one cluster for each.
        """
        if not len(changes):
            raise ConfigurationError("changes: expected at least one paired episode, got none")
        values: Floats = np.asarray(changes, dtype=np.float64)
        if bad := [value for value in values.tolist() if not math.isfinite(value)]:
            raise ConfigurationError(f"changes: expected finite numbers, got {bad[0]!r}")
        if clusters is None:
            return PairedSample(values, np.ones_like(values))
        if len(clusters) != len(values):
            raise ConfigurationError(
                f"clusters: expected one for each of the {len(values)} episodes, got "
                f"{len(clusters)}"
            )
        unit = cluster_index(clusters)
        sums: Floats = np.bincount(unit, weights=values).astype(np.float64)
        return PairedSample(sums, np.bincount(unit).astype(np.float64))

    @property
    def num_episodes(self) -> int:
        """Differences."""
        return int(self.counts.sum())

    @property
    def num_units(self) -> int:
        """Independent units: clusters, or episodes where there are none."""
        return len(self.sums)

    @property
    def mean(self) -> float:
        """Mean over episodes."""
        return float(self.sums.sum() / self.counts.sum())

    @property
    def standard_error(self) -> float | None:
        """Of the mean; ``None`` for one unit."""
        if self.num_units < 2:
            return None
        return float(standard_errors(self.sums[None], self.counts[None])[0])

    @property
    def unit_deviation(self) -> float | None:
        """Standard error times the square root of the number of units: what stays as units grow."""
        error = self.standard_error
        return None if error is None else error * math.sqrt(self.num_units)


def cluster_index(clusters: Sequence[Hashable]) -> npt.NDArray[np.intp]:
    """Number of each episode's cluster, in order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=np.intp)


def standard_errors(sums: Floats, counts: Floats) -> Floats:
    """Standard error of ``sum(sums) / sum(counts)`` in each row of ``[R, G]``, G at least 2.

    Rows without spread beyond rounding give exactly 0.
    """
    num_units = sums.shape[1]
    total = counts.sum(axis=1)
    means = sums.sum(axis=1) / total
    residuals = sums - counts * means[:, None]
    squares = np.square(residuals).sum(axis=1)
    squares[squares <= rounding(np.square(sums).sum(axis=1))] = 0.0
    errors: Floats = np.sqrt(squares * num_units / (num_units - 1)) / total
    return errors


def rounding(squares: Floats) -> Floats:
    """How much of a sum of squares may be nothing but rounding."""
    bound: Floats = squares * (64 * np.finfo(np.float64).eps) ** 2
    return bound
