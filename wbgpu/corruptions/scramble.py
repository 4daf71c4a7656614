"""Scramble: frames come in the wrong order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.corruptions.corruption import Corruption, Rollout, positive_integer, share_of
from wbgpu.errors import ConfigurationError


class Scramble(Corruption):
    """In a share of ``severity`` of groups of neighbouring frames the last one comes first.

    As worldbench's ``frame_scramble``, but that a higher severity scrambles the same groups and
    others besides. At 1 every frame is in the wrong place, but for the last few where they are
    fewer than a group.

    Args:
        group_frames: frames of a group, at least 2.
    """

    fault = "shows frames in the wrong order"

    def __init__(self, group_frames: int = 3) -> None:
        if positive_integer("group_frames", group_frames) < 2:
            raise ConfigurationError("group_frames: expected at least 2; one frame has one order")
        self.group_frames = group_frames

    def source_frames(self, rollout: Rollout, severity: float) -> npt.NDArray[np.int64]:
        """Each scrambled group is rotated by one."""
        num_groups = rollout.num_touched // self.group_frames
        order = rollout.random().permutation(num_groups)
        chosen = order[: share_of(num_groups, severity)]
        sources = np.arange(rollout.num_frames)
        stop = rollout.num_untouched + num_groups * self.group_frames
        groups = sources[rollout.num_untouched : stop].reshape(-1, self.group_frames)
        groups[chosen] = np.roll(groups[chosen], 1, axis=1)
        return sources
