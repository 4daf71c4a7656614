"""Constants of the SSIM index for 8-bit frames (Wang et al. 2004)."""

from __future__ import annotations

import math

C1 = (0.01 * 255) ** 2
"""Stabiliser of the luminance term."""

C2 = (0.03 * 255) ** 2
"""Stabiliser of the contrast and structure term."""

_SIGMA = 1.5
_RADIUS = 5


def gaussian_taps() -> tuple[float, ...]:
    """The 11 weights of the Gaussian window in one direction; they sum to 1."""
    weights = [math.exp(-0.5 * (i / _SIGMA) ** 2) for i in range(-_RADIUS, _RADIUS + 1)]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)
