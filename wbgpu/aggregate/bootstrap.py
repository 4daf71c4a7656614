"""Percentile bootstrap of a paired mean change.

Episodes are drawn with replacement from a private ``numpy.random.default_rng(seed)``, the mean
change of each draw is taken, and the interval is cut at the (1 - level) / 2 quantiles (NumPy's
linear interpolation). Same numbers as worldbench's ``paired_bootstrap_episode_delta``. Reference:
Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wbgpu.errors import ConfigurationError
from wbgpu.records.comparison import Comparison, Interval

METHOD = "paired_bootstrap_episode_delta"
_MAX_DRAWN_AT_ONCE = 1 << 20


def paired_bootstrap(
    changes: Sequence[float], *, num_samples: int, seed: int = 42, level: float = 0.95
) -> Interval:
    """Interval for the mean of ``changes``.

    Args:
        changes: candidate - baseline of each episode, finite.
        num_samples: bootstrap draws, at least 1.
        seed: of the generator; the same seed gives the same interval.
        level: confidence, between 0 and 1, both excluded.

    Raises:
        ConfigurationError: an argument is empty, not finite or out of range.
    """
    if not changes:
        raise ConfigurationError("bootstrap: expected at least one paired episode, got none")
    if bad := [change for change in changes if not math.isfinite(change)]:
        raise ConfigurationError(f"bootstrap: changes must be finite, got {bad[0]!r}")
    if num_samples < 1:
        raise ConfigurationError(f"bootstrap: expected num_samples >= 1, got {num_samples!r}")
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"bootstrap: expected 0 < level < 1, got {level!r}")
    values = np.asarray(changes, dtype=np.float64)
    generator = np.random.default_rng(seed)
    count = len(values)
    rows = max(1, _MAX_DRAWN_AT_ONCE // count)
    means = np.concatenate(
        [
            values[generator.integers(0, count, (min(rows, num_samples - start), count))].mean(1)
            for start in range(0, num_samples, rows)
        ]
    )
    tail = (1.0 - level) / 2.0
    lower, upper = np.percentile(means, [100.0 * tail, 100.0 * (1.0 - tail)])
    return Interval(
        method=METHOD,
        mean=float(values.mean()),
        level=level,
        lower=float(lower),
        upper=float(upper),
        num_samples=num_samples,
        seed=seed,
        num_episodes=count,
    )


def change_interval(
    comparison: Comparison, *, num_samples: int, seed: int = 42, level: float = 0.95
) -> Interval | None:
    """Interval for the mean change of the episodes' composites; arguments as above.

    Returns:
        ``None`` when no draws are asked for or no episode has a composite on both sides.
    """
    if not num_samples or not comparison.episodes:
        return None
    changes = [episode.change for episode in comparison.episodes]
    return paired_bootstrap(changes, num_samples=num_samples, seed=seed, level=level)
