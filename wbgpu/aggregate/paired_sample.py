"""Paired differences, and the units that they are independent over.

Differences of episodes in one scene or of one task move together, so not episodes but *clusters*
are the independent units. The estimate stays the mean over episodes; its standard error is that of
a ratio of cluster sums (Cochran, Sampling Techniques, 1977, section 6.3). A cluster with most of
the episodes pulls the mean to its own, so that its residual is small and says nothing of how far
both are off. Squares are therefore scaled to the right mean, and Student's t has the degrees of
freedom of Satterthwaite's approximation, both for episodes of a cluster that move entirely together
(Bell & McCaffrey, Survey Methodology 28, 2002, with that working model): clusters of equal sizes
give G / (G - 1) and G - 1. Without clusters every episode is its own unit, and it is the usual
standard error of a mean.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.records.evidence import LARGEST_CHANGE

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
            changes: candidate - baseline of each episode; at least one, at most
                :data:`~wbgpu.records.evidence.LARGEST_CHANGE` in magnitude.
            clusters: the unit of each episode, in the same order; ``None`` makes each its own.

        Raises:
            ConfigurationError: no change, one out of range, or not one cluster for each.
        """
        if not len(changes):
            raise ConfigurationError("changes: expected at least one paired episode, got none")
        values: Floats = np.asarray(changes, dtype=np.float64)
        if bad := [value for value in values.tolist() if not abs(value) <= LARGEST_CHANGE]:
            raise ConfigurationError(
                f"changes: expected finite numbers of at most {LARGEST_CHANGE:g}, got {bad[0]!r}"
            )
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
    def degrees_of_freedom(self) -> float:
        """Of the standard error; 0 for one unit, else at least 1."""
        return 0.0 if self.num_units < 2 else _degrees_of_freedom(self.counts)

    @property
    def unit_deviation(self) -> float | None:
        """Standard error times the square root of the number of units: what stays as units grow."""
        error = self.standard_error
        return None if error is None else error * math.sqrt(self.num_units)


def clusters_of(episode_ids: Sequence[str], clusters: Mapping[str, str] | None) -> list[str] | None:
    """The cluster of each episode, or ``None`` where each is its own.

    Raises:
        IncompatibleResultsError: episodes have none; the message counts and names them.
    """
    if clusters is None:
        return None
    if missing := [episode_id for episode_id in episode_ids if episode_id not in clusters]:
        near = _near(missing[0], clusters)
        hint = "give one for every episode" if near is None else f"they name {near!r} instead"
        raise IncompatibleResultsError(
            f"clusters: {len(missing)} of {len(episode_ids)} episodes have none, such as "
            f"{missing[0]!r}; {hint}"
        )
    return [clusters[episode_id] for episode_id in episode_ids]


def _near(episode_id: str, clusters: Mapping[str, str]) -> str | None:
    """The same id with another extension or none."""
    stem = PurePosixPath(episode_id).with_suffix("")
    same = (name for name in clusters if PurePosixPath(name).with_suffix("") == stem)
    return next(same, None)


def cluster_index(clusters: Sequence[Hashable]) -> npt.NDArray[np.intp]:
    """Number of each episode's cluster, in order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=np.intp)


def standard_errors(sums: Floats, counts: Floats) -> Floats:
    """Standard error of ``sum(sums) / sum(counts)`` in each row of ``[R, G]``, G at least 2.

    Rows without spread beyond rounding give exactly 0.
    """
    total = counts.sum(axis=1)
    means = sums.sum(axis=1) / total
    residuals = sums - counts * means[:, None]
    squares = np.square(residuals).sum(axis=1)
    squares[squares <= rounding(np.square(sums).sum(axis=1))] = 0.0
    errors: Floats = np.sqrt(squares * small_sample_scale(counts, axis=1)) / total
    return errors


def small_sample_scale(counts: Floats, axis: int) -> Floats:
    """By what a sum of squared residuals is too small on average; G / (G - 1) for equal counts.

    Counts of 0 are of units that are not there; infinite for one unit.
    """
    num_units = counts.shape[axis]
    if (counts == counts.ravel()[:1]).all():
        scale = num_units / (num_units - 1) if num_units > 1 else math.inf
        return np.full(counts.sum(axis=axis).shape, scale)
    squares = np.square(counts)
    total, second = counts.sum(axis=axis), squares.sum(axis=axis)
    third = (squares * counts).sum(axis=axis)
    expected = second - 2.0 * third / total + np.square(second / total)
    with np.errstate(divide="ignore"):
        # One unit has a residual of nothing but rounding.
        found: Floats = second / np.where(expected > 1e-12 * second, expected, 0.0)
    return found


def _degrees_of_freedom(counts: Floats) -> float:
    if (counts == counts[0]).all():
        return len(counts) - 1.0
    n = counts / counts.mean()
    total, second, third, fourth, fifth = (float(np.power(n, k).sum()) for k in range(1, 6))
    mean = second - 2.0 * third / total + (second / total) ** 2
    # Squared norm of the residuals' covariance diag(q) - (n q' + q n') / N + n n' Q / N^2, where
    # q = n^2 and Q = sum q.
    spread = (
        fourth
        + 2.0 * (second * fourth + third**2) / total**2
        + (second / total) ** 4
        - 4.0 * fifth / total
        + 2.0 * fourth * second / total**2
        - 4.0 * second**2 * third / total**3
    )
    return max(1.0, mean**2 / spread)


def rounding(squares: Floats) -> Floats:
    """How much of a sum of squares may be nothing but rounding."""
    bound: Floats = squares * (64 * np.finfo(np.float64).eps) ** 2
    return bound
