"""The mean of the context frames, again and again: what is still stays, what moves is smeared."""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.models.world_model import Prediction, last_frame


class ContextMean:
    """Repeats the mean context frame, rounded to nearest (halves up); needs one, and no actions."""

    def predict(
        self, context_frames: Tensor, actions: Tensor | None, num_frames: int
    ) -> Prediction:
        """See `wbgpu.models.WorldModel`; the frames share memory."""
        del actions
        last_frame(context_frames)
        num_context = context_frames.shape[1]
        # In integers, so that every device gives the same frames.
        total = context_frames.sum(1, dtype=torch.int64)
        mean = ((2 * total + num_context) // (2 * num_context)).to(torch.uint8)
        return Prediction(mean[:, None].expand(-1, num_frames, -1, -1, -1))
