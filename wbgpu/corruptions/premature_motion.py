"""Premature motion: things move before they should."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.corruptions.corruption import Corruption, Rollout, positive


class PrematureMotion(Corruption):
    """Everything happens early: motion runs at a higher speed, and the last frame stays.

    worldbench's scenario of that name moves the object before the robot touches it. Nothing tells
    the two apart in plain video, so here the whole picture runs ahead.

    Args:
        max_extra_speed: at severity 1; 1 is twice as fast.
    """

    fault = "runs ahead"

    def __init__(self, max_extra_speed: float = 1.0) -> None:
        self.max_extra_speed = positive("max_extra_speed", max_extra_speed)

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """A later frame."""
        last_untouched = rollout.num_untouched - 1
        elapsed = np.arange(rollout.num_frames) - last_untouched
        ahead = np.floor(elapsed * (1 + severity * self.max_extra_speed) + 0.5).astype(np.int64)
        sources: npt.NDArray[np.int64] = np.minimum(last_untouched + ahead, rollout.num_frames - 1)
        return sources
