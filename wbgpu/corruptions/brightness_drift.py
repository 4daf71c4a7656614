"""Brightness drift: the picture grows brighter, too slowly to be seen from frame to frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, positive
from wbgpu.corruptions.levels import per_frame, to_levels


class BrightnessDrift(Corruption):
    """Brightness rises steadily, at the last frame by ``severity * max_levels`` levels of 255.

    Args:
        max_levels: at severity 1; negative drift is no other fault.
    """

    fault = "grows brighter and brighter"

    def __init__(self, max_levels: float = 64.0) -> None:
        self.max_levels = positive("max_levels", max_levels)

    def change(
        self,
        frames: Tensor,
        index: npt.NDArray[np.int64],
        reference: Tensor,
        rollout: Rollout,
        severity: float,
    ) -> Tensor:
        """In proportion to the time since the context."""
        elapsed = (index - rollout.num_untouched + 1) / rollout.num_touched
        return to_levels(frames.float() + per_frame(severity * self.max_levels * elapsed, frames))
