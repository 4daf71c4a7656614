"""Stutter: now and then the video stands still for a moment, and then jumps to catch up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.corruptions.corruption import Corruption, Rollout, share_of


class Stutter(Corruption):
    """A share of ``severity`` of the frames, scattered at random, repeats the frame shown before.

    As worldbench's ``frame_freeze``, but that a higher severity holds the same frames and others
    besides. At 1 nothing moves after the context, and there is no jump any more: then it is
    `Freeze`.
    """

    fault = "stands still now and then"

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """The last frame that is not held."""
        order = rollout.random().permutation(rollout.num_touched)
        sources = np.arange(rollout.num_frames)
        sources[rollout.num_untouched + order[: share_of(rollout.num_touched, severity)]] = -1
        return np.maximum.accumulate(sources)
