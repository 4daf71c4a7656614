"""Quantiles of Student's t distribution, in closed form for whole degrees of freedom.

P(-t <= T <= t) is a finite sum of powers of cos(atan(t / sqrt(df))): Abramowitz & Stegun,
Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4. Between whole degrees the logarithm
of t is taken as straight in 1 / df, which is never short, and long by up to 4 % below 2.
"""

from __future__ import annotations

import functools
import math

from wbgpu.errors import ConfigurationError


@functools.cache
def two_sided_t(level: float, degrees_of_freedom: float) -> float:
    """The t with P(-t <= T <= t) = ``level``: half the width of an interval in standard errors.

    Args:
        level: between 0 and 1, both excluded.
        degrees_of_freedom: at least 1.

    Raises:
        ConfigurationError: an argument is out of range.
    """
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"level: expected a number between 0 and 1, got {level!r}")
    if degrees_of_freedom < 1:
        raise ConfigurationError(
            f"degrees_of_freedom: expected at least 1, got {degrees_of_freedom!r}"
        )
    below = math.floor(degrees_of_freedom)
    if below != degrees_of_freedom:
        near, far = two_sided_t(level, below + 1), two_sided_t(level, below)
        share = (1 / degrees_of_freedom - 1 / (below + 1)) * below * (below + 1)
        return float(near * (far / near) ** share)
    low, high = 0.0, math.pi / 2
    # The angle, not t itself: it is bounded. Halved until no float lies between.
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, below) < level:
            low = middle
        else:
            high = middle
    return math.tan(high) * math.sqrt(degrees_of_freedom)


def _within(angle: float, degrees_of_freedom: int) -> float:
    """P(-t <= T <= t) for t = tan(angle) * sqrt(df)."""
    cosine = math.cos(angle)
    is_odd = degrees_of_freedom % 2
    term = cosine if is_odd else 1.0
    total = 0.0
    for k in range(1 + is_odd, degrees_of_freedom + 1, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    if is_odd:
        return (angle + math.sin(angle) * total) * 2 / math.pi
    return math.sin(angle) * total
