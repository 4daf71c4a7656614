"""Freeze: from some moment on nothing moves any more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.corruptions.corruption import Corruption, Rollout, share_of


class Freeze(Corruption):
    """The last share of ``severity`` of the frames repeats the frame before them.

    At 1 nothing moves after the context. worldbench's ``frame_freeze`` holds scattered frames, and
    is called `Stutter` here.
    """

    fault = "comes to a standstill"

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """At most the last frame that moves."""
        last = rollout.num_frames - 1 - share_of(rollout.num_touched, severity)
        return np.minimum(np.arange(rollout.num_frames), last)
