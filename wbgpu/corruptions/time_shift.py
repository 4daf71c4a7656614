"""Time shift: everything happens, but too late."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.corruptions.corruption import Corruption, Rollout, positive_integer, share_of


class TimeShift(Corruption):
    """Lags behind by ``severity * max_frames`` frames; the last context frame fills the gap.

    Args:
        max_frames: the lag at severity 1.
    """

    fault = "lags behind"

    def __init__(self, max_frames: int = 8) -> None:
        self.max_frames = positive_integer("max_frames", max_frames)

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """An earlier frame."""
        lagging = np.arange(rollout.num_frames) - share_of(self.max_frames, severity)
        return np.maximum(lagging, rollout.num_untouched - 1)
