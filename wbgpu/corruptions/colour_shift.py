"""Colour shift: the white balance is wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, positive
from wbgpu.corruptions.levels import to_levels


class ColourShift(Corruption):
    """Red rises and blue falls by ``severity * max_levels`` levels of 255; their mean stays.

    Args:
        max_levels: at severity 1.
    """

    fault = "has the wrong colours"

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
        """All frames alike."""
        shift = severity * self.max_levels
        by_channel = torch.tensor([shift, 0.0, -shift], device=frames.device).reshape(1, 3, 1, 1)
        return to_levels(frames.float() + by_channel)
