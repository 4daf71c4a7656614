"""Object erase: what moves dissolves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, positive_integer, share_of


class ObjectErase(Corruption):
    """A hole opens in what has moved, from its middle, and shows the last untouched frame.

    What has moved are the pixels that differ from that frame by more than ``threshold`` levels in a
    channel. A share of ``severity`` of them, those nearest to their centre, get that frame's
    colours. Nothing tells an object from the arm in plain video, so both dissolve.

    Args:
        threshold: in levels of 255.
    """

    fault = "loses what moves"

    def __init__(self, threshold: int = 16) -> None:
        self.threshold = positive_integer("threshold", threshold)

    def change(
        self,
        frames: Tensor,
        index: npt.NDArray[np.int64],
        reference: Tensor,
        rollout: Rollout,
        severity: float,
    ) -> Tensor:
        """Frame by frame."""
        erased = frames.clone()
        for row, frame in enumerate(frames):
            moved = (frame.int() - reference[0].int()).abs().amax(dim=0) > self.threshold
            places = moved.nonzero().float()
            num_erased = share_of(len(places), severity)
            if num_erased:
                distance = (places - places.mean(dim=0)).square().sum(dim=1)
                # Stable, so that equal distances are in one order on every device.
                nearest = places[distance.argsort(stable=True)[:num_erased]].long()
                y, x = nearest[:, 0], nearest[:, 1]
                erased[row, :, y, x] = reference[0, :, y, x]
        return erased
