"""The sign-flip test of paired differences.

If baseline and candidate are the same, they could have been swapped in any episode, so every
pattern of signs of the differences was equally likely; the p-value is the share of patterns with a
mean at least as extreme as the observed one (Fisher, The Design of Experiments, 1935, section 21).
Exact for differences that are symmetric about the null value; no distribution is assumed
otherwise. All 2^G patterns up to G = 16 units; above, random ones, counted with the observed one
among them (Phipson & Smyth 2010), so a p-value is never 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wbgpu.aggregate.paired_sample import Floats, PairedSample
from wbgpu.errors import ConfigurationError

Alternative = Literal["two_sided", "less", "greater"]

MAX_EXACT_UNITS = 16
DEFAULT_FLIPS = 9999
_CHUNK_FLOATS = 1 << 21


def sign_flip_p_value(
    sample: PairedSample,
    *,
    alternative: Alternative = "two_sided",
    null: float = 0.0,
    num_flips: int = DEFAULT_FLIPS,
    seed: int = 42,
) -> float:
    """P-value of the hypothesis that differences are symmetric about ``null``.

    Args:
        sample: the differences; signs are flipped by unit.
        alternative: ``less`` asks whether the mean is below ``null``.
        null: in the unit of the differences.
        num_flips: random patterns, where there are more than 16 units.
        seed: of the private generator of these.

    Returns:
        Above 0, at most 1; at least 2^-G for G <= 16 units.

    Raises:
        ConfigurationError: an unknown alternative or fewer than 99 flips.
    """
    if alternative not in ("two_sided", "less", "greater"):
        raise ConfigurationError(
            f"alternative: expected two_sided, less or greater, got {alternative!r}"
        )
    shifted = sample.sums - null * sample.counts
    patterns = sign_patterns(sample.num_units, num_flips, seed)
    totals = np.concatenate([signs @ shifted for signs in patterns])
    observed = float(shifted.sum())
    if alternative == "two_sided":
        totals, observed = np.abs(totals), abs(observed)
    elif alternative == "less":
        totals, observed = -totals, -observed
    # Patterns that give the observed sum but for rounding are as extreme.
    slack = 1e-12 * float(np.abs(shifted).sum())
    return float(np.mean(totals >= observed - slack))


def sign_patterns(
    num_units: int, num_flips: int, seed: int, max_exact_units: int = MAX_EXACT_UNITS
) -> Iterator[Floats]:
    """Patterns of +1 and -1 in pieces ``[R, num_units]``, of which the first row is all +1.

    All 2^num_units up to ``max_exact_units``, else ``num_flips`` random ones after the first. A
    piece at a time: all of those of 100,000 units would take 8 GB.
    """
    if num_flips < 99:
        raise ConfigurationError(f"num_flips: expected at least 99, got {num_flips!r}")
    if num_units <= max_exact_units:
        codes = np.arange(1 << num_units)[:, None] >> np.arange(num_units) & 1
        yield _as_signs(codes)
        return
    generator = np.random.default_rng(seed)
    rows = max(1, _CHUNK_FLOATS // num_units)
    yield np.ones((1, num_units))
    for start in range(0, num_flips, rows):
        bits = generator.integers(0, 2, (min(rows, num_flips - start), num_units), dtype=np.int8)
        yield _as_signs(bits)


def _as_signs(bits: npt.NDArray[np.integer[Any]]) -> Floats:
    signs: Floats = 1.0 - 2.0 * bits.astype(np.float64)
    return signs
