"""Action mismatch: the robot does something else than its actions say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.corruptions.corruption import Corruption, Rollout, share_of


class ActionMismatch(Corruption):
    """From some moment on the robot takes back what it did: the video runs backwards.

    At severity 1 that is the second half of the frames after the context; every picture is a real
    one, and each step moves as much as a real one, but the other way.
    """

    fault = "moves against its actions"

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """Mirrored in time about the turning point."""
        sources = np.arange(rollout.num_frames)
        turning_point = rollout.num_frames - 1 - share_of(rollout.num_touched // 2, severity)
        return np.minimum(sources, 2 * turning_point - sources)
