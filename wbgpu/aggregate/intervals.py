"""Confidence intervals of a mean paired change.

- *Student-t*: mean +- t * standard error (Student 1908). Too short on one side where differences
  are
  skewed: at ten exponential differences a nominal 2.5 % tail is 9 %.
- *Bootstrap-t* (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5): units
  are drawn with replacement, and quantiles of (mean* - mean) / error* take the place of Student's
  t. It follows skewness; with heavy tails it is a little short.
- *Conservative*: at each end the farther of the two. It covers 0.93 to 0.97 where either alone
  does not (``scripts/simulate_gate.py``); gates use it.

The percentile bootstrap (:mod:`wbgpu.aggregate.bootstrap`) is worldbench's: 0.87 for ten
differences.
"""

from __future__ import annotations

import numpy as np

from wbgpu.aggregate.paired_sample import Floats, PairedSample, standard_errors
from wbgpu.aggregate.student_t import two_sided_t
from wbgpu.errors import ConfigurationError
from wbgpu.records.evidence import Estimate, IntervalMethod

DEFAULT_DRAWS = 9999
DEFAULT_SEED = 42
_MAX_DEGENERATE_SHARE = 0.005
"""More draws without any spread than this, and quantiles of their t say nothing."""
_MAX_DRAWN_AT_ONCE = 1 << 20


def mean_interval(
    sample: PairedSample,
    *,
    method: IntervalMethod = "conservative",
    level: float = 0.95,
    num_draws: int = DEFAULT_DRAWS,
    seed: int = DEFAULT_SEED,
) -> Estimate:
    """Two-sided interval, (1 - level) / 2 on each side.

    Args:
        sample: the differences.
        method: see the module; where draws of the bootstrap lack spread (few units, or nearly all
            differences equal), Student-t is given for all, and the estimate says so.
        level: between 0 and 1, both excluded.
        num_draws: of the bootstrap, at least 99.
        seed: of its private generator.

    Returns:
        Without bounds for one unit; a point where all differences are equal.

    Raises:
        ConfigurationError: an argument is out of range.
    """
    if method not in ("conservative", "student_t", "bootstrap_t"):
        raise ConfigurationError(
            f"interval: expected conservative, student_t or bootstrap_t, got {method!r}"
        )
    if num_draws < 99:
        raise ConfigurationError(f"num_draws: expected at least 99, got {num_draws!r}")
    mean, error, units = sample.mean, sample.standard_error, sample.num_units
    if error is None:
        two_sided_t(level, 1)  # a wrong level is refused, whatever the sample
        return Estimate(mean, None, None, None, level, "none", sample.num_episodes, units, 0.0)
    degrees = sample.degrees_of_freedom
    width = two_sided_t(level, degrees) * error
    lower, upper = mean - width, mean + width
    used: str = "student_t"
    if method != "student_t" and error > 0:
        tails = _bootstrap_t(sample, level, num_draws, seed)
        if tails is not None:
            used = method
            low, high = mean - tails[1] * error, mean - tails[0] * error
            lower, upper = (
                (low, high) if method == "bootstrap_t" else (min(lower, low), max(upper, high))
            )
    return Estimate(mean, error, lower, upper, level, used, sample.num_episodes, units, degrees)


def _bootstrap_t(
    sample: PairedSample, level: float, num_draws: int, seed: int
) -> tuple[float, float] | None:
    """Quantiles of t at both tails; ``None`` where too many draws have no spread."""
    generator = np.random.default_rng(seed)
    units = sample.num_units
    rows = max(1, _MAX_DRAWN_AT_ONCE // units)
    parts: list[Floats] = []
    for start in range(0, num_draws, rows):
        drawn = generator.integers(0, units, (min(rows, num_draws - start), units))
        sums, counts = sample.sums[drawn], sample.counts[drawn]
        errors = standard_errors(sums, counts)
        has_spread = errors > 0
        means = sums.sum(axis=1) / counts.sum(axis=1)
        parts.append((means - sample.mean)[has_spread] / errors[has_spread])
    statistics = np.concatenate(parts)
    if num_draws - len(statistics) > _MAX_DEGENERATE_SHARE * num_draws:
        return None
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(statistics, [tail, 1.0 - tail])
    return float(low), float(high)
