"""Blur: fine detail is lost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.corruptions.corruption import Corruption, Rollout, positive
from wbgpu.corruptions.levels import to_levels


class Blur(Corruption):
    """The frame and its mean over a square around each pixel, mixed: ``severity`` of the mean.

    Args:
        max_reach: from the middle of the square to its side, as a share of the frame's shorter
            side; at least one pixel. At the border the edge's pixels are repeated.
    """

    fault = "is blurred"

    def __init__(self, max_reach: float = 0.02) -> None:
        self.max_reach = positive("max_reach", max_reach)

    def change(
        self,
        frames: Tensor,
        index: npt.NDArray[np.int64],
        reference: Tensor,
        rollout: Rollout,
        severity: float,
    ) -> Tensor:
        """The mean is exact: its sums are integers."""
        reach = max(1, round(self.max_reach * min(frames.shape[-2:])))
        # int32 holds the sums along a line of a million pixels of as many lines.
        sums = frames.int()
        for dim in (-2, -1):
            sums = _window_sums(sums, dim, reach)
        mean = sums.float() / (2 * reach + 1) ** 2
        return to_levels(torch.lerp(frames.float(), mean, severity))


def _window_sums(values: Tensor, dim: int, reach: int) -> Tensor:
    length = values.shape[dim]
    index = torch.arange(-reach - 1, length + reach, device=values.device)
    sums = values.index_select(dim, index.clamp(0, length - 1)).cumsum(dim, dtype=torch.int32)
    return sums.narrow(dim, 2 * reach + 1, length) - sums.narrow(dim, 0, length)
