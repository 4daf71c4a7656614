"""How small a change a suite can see."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_QUANTILES = 1.959964 + 0.841621
"""Normal quantiles of a two-sided test at 5 % that finds the effect with 80 % power."""


def minimum_detectable_effect(changes: Sequence[float]) -> float | None:
    """Smallest true mean change that as many paired episodes would find, in the changes' unit.

    (z_0.975 + z_0.8) * sample standard deviation of the changes / sqrt(number of episodes), for a
    paired two-sided test at 5 % with 80 % power (Cohen, Statistical Power Analysis, 1988).

    Args:
        changes: candidate - baseline of each episode, finite.

    Returns:
        ``None`` for fewer than two episodes.
    """
    if len(changes) < 2:
        return None
    return _QUANTILES * statistics.stdev(changes) / math.sqrt(len(changes))
