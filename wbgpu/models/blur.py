"""The last context frame, blurred: a still picture that errors of pixels like better than life."""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.models.world_model import Prediction, last_frame


class Blur:
    """Repeats the last context frame after a box blur; needs one, and no actions.

    Args:
        size: side of the box in pixels, odd. At the border the edge's pixels are repeated.

    Raises:
        ConfigurationError: a size that is even or not positive.
    """

    def __init__(self, size: int = 9) -> None:
        if not isinstance(size, int) or size < 1 or size % 2 == 0:
            raise ConfigurationError(f"model.size: expected an odd positive number, got {size!r}")
        self.size = size

    def predict(
        self, context_frames: Tensor, actions: Tensor | None, num_frames: int
    ) -> Prediction:
        """See `wbgpu.models.WorldModel`; the frames share memory."""
        del actions
        # In integers, so that every device gives the same frames.
        total = last_frame(context_frames).long()
        for dim in (-2, -1):
            total = self._window_sums(total, dim)
        area = self.size**2
        blurred = ((2 * total + area) // (2 * area)).to(torch.uint8)
        return Prediction(blurred[:, None].expand(-1, num_frames, -1, -1, -1))

    def _window_sums(self, values: Tensor, dim: int) -> Tensor:
        length, reach = values.shape[dim], self.size // 2
        index = torch.arange(-reach - 1, length + reach, device=values.device)
        sums = values.index_select(dim, index.clamp(0, length - 1)).cumsum(dim)
        return sums.narrow(dim, self.size, length) - sums.narrow(dim, 0, length)
