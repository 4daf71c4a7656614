"""Flicker: the light changes from frame to frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, positive
from wbgpu.corruptions.levels import per_frame, to_levels


class Flicker(Corruption):
    """Frames are brighter and darker in turn, by ``severity * max_levels`` levels of 255.

    Args:
        max_levels: at severity 1.
    """

    fault = "flickers"

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
        """Which of both comes first is random."""
        phase = int(rollout.random().integers(2))
        sign = 1.0 - 2.0 * ((index + phase) % 2)
        return to_levels(frames.float() + per_frame(severity * self.max_levels * sign, frames))
