"""Many means at once: step-down max-T with familywise error control.

Each column (such as one metric at one horizon) has its t statistic. Signs of whole units are
flipped, the same in all columns, so the dependence between columns is kept; a column's adjusted
p-value is the share of flips in which the largest statistic among it and all less significant
columns is at least as extreme, made monotone (Westfall & Young, Resampling-Based Multiple Testing,
1993, algorithm 4.1). With probability 1 - alpha no true null hypothesis has an adjusted p-value of
alpha or less; horizons that move together cost less than a Bonferroni correction.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.paired_sample import (
    Floats,
    cluster_index,
    rounding,
    small_sample_scale,
)
from wbgpu.aggregate.sign_flip import DEFAULT_FLIPS, Alternative, sign_patterns
from wbgpu.records.evidence import MIN_TESTED_UNITS

_MAX_EXACT_UNITS = 13
"""All 8,192 patterns are then fewer than the random ones."""

_CHUNK_FLOATS = 1 << 22


@dataclass(frozen=True)
class MaxT:
    """Columns ``[K]``; NaN where a column was not tested.

    Attributes:
        means: over the rows that have a value; NaN where none has.
        standard_errors: NaN for fewer than two units.
        statistics: (mean - null) / standard error.
        p_values: of each test alone.
        adjusted_p_values: under familywise error control.
        num_rows: rows with a value.
        num_units: units with a value.
    """

    means: Floats
    standard_errors: Floats
    statistics: Floats
    p_values: Floats
    adjusted_p_values: Floats
    num_rows: npt.NDArray[np.intp]
    num_units: npt.NDArray[np.intp]


def step_down_max_t(
    differences: Floats,
    *,
    clusters: Sequence[Hashable] | None = None,
    alternative: Alternative = "two_sided",
    null: Floats | float = 0.0,
    num_flips: int = DEFAULT_FLIPS,
    seed: int = 42,
) -> MaxT:
    """Test every column.

    Args:
        differences: ``[episodes, K]``; NaN where an episode has no value in a column.
        clusters: unit of each episode; ``None`` makes each its own.
        alternative: ``less`` asks whether means are below ``null``.
        null: one value, or one for each column.
        num_flips: random patterns, where there are more than 13 units.
        seed: of the private generator of these.
    """
    num_episodes, num_columns = differences.shape
    unit = np.arange(num_episodes) if clusters is None else cluster_index(clusters)
    num_units = int(unit.max()) + 1 if num_episodes else 0
    present = np.isfinite(differences)
    counts, sums = np.zeros((2, num_units, num_columns))
    np.add.at(counts, unit, present)
    shift = np.broadcast_to(np.asarray(null, dtype=np.float64), (num_columns,))
    np.add.at(sums, unit, np.where(present, differences - shift, 0.0))
    total = counts.sum(axis=0)
    units_in = (counts > 0).sum(axis=0)
    nothing = np.full(num_columns, np.nan)
    moments = _Moments(sums, counts, total)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = sums.sum(axis=0) / total
        errors = np.where(units_in >= 2, moments.errors(centred), np.nan)
    tested = units_in >= MIN_TESTED_UNITS
    result = MaxT(centred + shift, errors, nothing, nothing, nothing, present.sum(axis=0), units_in)
    if not tested.any():
        return result
    part = _Moments(sums[:, tested], counts[:, tested], total[tested])
    statistics, raw, adjusted = _adjust(part, alternative, num_flips, seed)

    def spread(values: Floats) -> Floats:
        column: Floats = nothing.copy()
        column[tested] = values
        return column

    return MaxT(
        result.means,
        errors,
        spread(statistics),
        spread(raw),
        spread(adjusted),
        result.num_rows,
        result.num_units,
    )


@dataclass(frozen=True)
class _Moments:
    """Sums ``[G, K]`` and counts of each unit and column, and their totals ``[K]``."""

    sums: Floats
    counts: Floats
    total: Floats

    def errors(self, means: Floats, cross: Floats | None = None) -> Floats:
        """Standard errors where flips have moved the means to ``means [..., K]``.

        Args:
            means: of each flip.
            cross: sum of flipped sums times counts, ``[..., K]``; ``None`` without flips.
        """
        squares = np.square(self.sums).sum(axis=0)
        if cross is None:
            cross = (self.sums * self.counts).sum(axis=0)
        residual = (
            squares - 2.0 * means * cross + np.square(means) * np.square(self.counts).sum(axis=0)
        )
        # Not the two-pass bound: here large squares are subtracted from each other.
        residual = np.where(residual <= np.sqrt(rounding(np.square(squares))), 0.0, residual)
        found: Floats = np.sqrt(residual * small_sample_scale(self.counts, axis=0)) / self.total
        return found


def _adjust(
    moments: _Moments, alternative: Alternative, num_flips: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Statistics, raw and adjusted p-values of columns that can be tested."""
    num_units = len(moments.sums)
    observed = _extremes(moments, np.ones((1, num_units)), alternative)[0]
    order = np.argsort(-observed, kind="stable")
    ranked = observed[order] - 1e-9 * np.abs(np.where(np.isfinite(observed), observed, 0.0))[order]
    exceeded_alone, exceeded = np.zeros((2, len(order)))
    num_patterns = 0
    rows = max(1, _CHUNK_FLOATS // len(order))
    for piece in sign_patterns(num_units, num_flips, seed, _MAX_EXACT_UNITS):
        for start in range(0, len(piece), rows):
            flipped = _extremes(moments, piece[start : start + rows], alternative)[:, order]
            exceeded_alone += (flipped >= ranked).sum(axis=0)
            # The largest among a column and all that are less significant.
            largest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
            exceeded += (largest >= ranked).sum(axis=0)
            num_patterns += len(flipped)
    raw, adjusted = np.empty((2, len(order)))
    raw[order] = exceeded_alone / num_patterns
    adjusted[order] = np.maximum.accumulate(exceeded / num_patterns)
    statistics = -observed if alternative == "less" else observed
    if alternative == "two_sided":
        statistics = observed * np.sign(moments.sums.sum(axis=0))
    return statistics, raw, adjusted


def _extremes(moments: _Moments, signs: Floats, alternative: Alternative) -> Floats:
    """How extreme each column is under each pattern, ``[R, K]``; infinite without spread."""
    means = signs @ moments.sums / moments.total
    errors = moments.errors(means, signs @ (moments.sums * moments.counts))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistics = means / errors
    # Rounding of a mean that is 0 must not look infinite.
    is_zero = np.abs(means) * moments.total <= 1e-12 * np.abs(moments.sums).sum(axis=0)
    statistics = np.where(is_zero, 0.0, statistics)
    if alternative == "two_sided":
        return np.abs(statistics)
    found: Floats = -statistics if alternative == "less" else statistics
    return found
