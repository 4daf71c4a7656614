"""Noise: grain that is new in every frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, positive
from wbgpu.corruptions.levels import to_levels

_ODD = 0x9E3779B97F4A7C15
_SEEDS = 2**63


class Noise(Corruption):
    """Gaussian noise of standard deviation ``severity * max_levels`` levels of 255.

    All severities scale the same noise. It is drawn on the frames' device, and another kind of
    device draws other numbers.

    Args:
        max_levels: standard deviation at severity 1.
    """

    fault = "is grainy"

    def __init__(self, max_levels: float = 32.0) -> None:
        self.max_levels = positive("max_levels", max_levels)

    def change(
        self,
        frames: Tensor,
        index: npt.NDArray[np.int64],
        reference: Tensor,
        rollout: Rollout,
        severity: float,
    ) -> Tensor:
        """Each frame has a seed of its own."""
        generator = torch.Generator(frames.device)
        noisy = torch.empty_like(frames)
        for row, place in enumerate(index.tolist()):
            generator.manual_seed((rollout.seed + place * _ODD) % _SEEDS)
            grain = torch.randn(frames.shape[1:], generator=generator, device=frames.device)
            noisy[row] = to_levels(frames[row] + severity * self.max_levels * grain)
        return noisy
