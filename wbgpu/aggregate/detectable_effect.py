"""How small a change a suite can see, and how many episodes would see a given one.

The power of the t test is that of a noncentral t distribution (Johnson, Kotz & Balakrishnan,
Continuous Univariate Distributions 2, 1995, chapter 31): T = (Z + d) / sqrt(V / df), with V
chi-squared. It is integrated over V, so that small suites are not promised what only large ones
see.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from wbgpu.aggregate.paired_sample import Floats, PairedSample
from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.records.evidence import Estimate

POWER = 0.8
"""Probability with which an effect of the stated size is found."""

MAX_UNITS = 1_000_000
"""More units than this are as good as none: no suite has as many."""

_MANY_UNITS = 1000
"""From here on the normal approximation asks for as many."""

_NUM_NODES = 128


def minimum_detectable_effect(
    changes: Sequence[float] | PairedSample, level: float = 0.95, estimate: Estimate | None = None
) -> float | None:
    """Smallest true mean change that as many paired episodes would find, in the changes' unit.

    For a test with (1 - level) / 2 on the side of the effect and a power of 80 %, if the spread is
    the one that was seen.

    Args:
        changes: candidate - baseline of each episode, finite; or a sample with clusters.
        level: of the interval that decides.
        estimate: that interval, where it is not Student's; its mean half width is taken instead of
            Student's, so that what a longer interval costs is not promised away.

    Returns:
        ``None`` for fewer than two units.
    """
    if not isinstance(changes, PairedSample):
        if len(changes) < 2:
            return None
        changes = PairedSample.of(changes)
    error = changes.standard_error
    if error is None:
        return None
    critical = None
    if error > 0 and estimate is not None and estimate.upper is not None:
        assert estimate.lower is not None
        critical = (estimate.upper - estimate.lower) / 2.0 / error
    num_equal_units = changes.degrees_of_freedom + 1
    return detectable_effect_in_errors(num_equal_units, level, critical=critical) * error


@functools.lru_cache(1024)
def detectable_effect_in_errors(
    num_units: float, level: float = 0.95, power: float = POWER, *, critical: float | None = None
) -> float:
    """The effect of :func:`minimum_detectable_effect` in standard errors of the mean.

    Args:
        num_units: at least 2; degrees of freedom + 1 where units are of different sizes.
        level: of the two-sided interval, between 0 and 1, both excluded.
        power: above (1 - level) / 2 and below 1.
        critical: half width of the interval in standard errors; ``None`` takes Student's.
    """
    if critical is None:
        critical = two_sided_t(level, num_units - 1)
    low, high = 0.0, 4.0 * (critical + 1.0)
    while power_of_effect(high, num_units, critical) < power:
        high *= 2.0
    while low < (middle := (low + high) / 2.0) < high and high - low > 1e-9 * high:
        if power_of_effect(middle, num_units, critical) < power:
            low = middle
        else:
            high = middle
    return high


def power_of_effect(effect_in_errors: float, num_units: float, critical: float) -> float:
    """Probability that mean +- ``critical`` standard errors excludes 0 on the side of an effect.

    Args:
        effect_in_errors: true mean in true standard errors of the mean.
        num_units: at least 2.
        critical: half width of the interval in standard errors.
    """
    roots, weights = _chi_nodes(num_units - 1)
    normal = np.array([math.erfc((critical * r - effect_in_errors) / math.sqrt(2)) for r in roots])
    return float((weights * normal).sum() / 2.0)


def units_to_detect(effect: float, unit_deviation: float, level: float = 0.95) -> int | None:
    """Least number of independent units that find a true ``effect`` with 80 % probability.

    Args:
        effect: distance from the null value, in the changes' unit.
        unit_deviation: standard error times square root of the number of units.
        level: of the two-sided interval that decides.

    Returns:
        At least 2; ``None`` where none up to :data:`MAX_UNITS` does.
    """
    effect = abs(effect)
    if effect == 0:
        return None
    if unit_deviation == 0:
        return 2

    normal = NormalDist()
    in_deviations = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(POWER)
    ratio = in_deviations * unit_deviation / effect
    if ratio > math.sqrt(MAX_UNITS):
        return None
    number = ratio**2
    # The normal approximation asks for a few units less than are needed.
    units = max(2, math.ceil(number))
    while units < _MANY_UNITS and (
        detectable_effect_in_errors(units, level) * unit_deviation > effect * math.sqrt(units)
    ):
        units += 1
    return units


@functools.cache
def _chi_nodes(degrees: float) -> tuple[list[float], Floats]:
    """Nodes r = sqrt(V / df) and weights of an integral over V's distribution."""
    # Almost all of chi / sqrt(df) lies within 9 of its standard deviations, 1 / sqrt(2 df), of 1.
    reach = 9.0 / math.sqrt(2.0 * degrees)
    low, high = max(0.0, 1.0 - reach), 1.0 + reach
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_NODES)
    r = low + (nodes + 1.0) * (high - low) / 2.0
    log_density = (
        math.log(2.0)
        + degrees / 2.0 * math.log(degrees / 2.0)
        - math.lgamma(degrees / 2.0)
        + (degrees - 1.0) * np.log(r)
        - degrees * np.square(r) / 2.0
    )
    densities = weights * np.exp(log_density) * (high - low) / 2.0
    return r.tolist(), densities / densities.sum()
