"""Persistence: the last context frame, again and again. What a model must beat to be of use."""

from __future__ import annotations

from torch import Tensor

from wbgpu.models.world_model import Prediction, last_frame


class CopyLast:
    """Repeats the last context frame; needs one, and no actions."""

    def predict(
        self, context_frames: Tensor, actions: Tensor | None, num_frames: int
    ) -> Prediction:
        """See `wbgpu.models.WorldModel`; the frames share memory."""
        del actions
        last = last_frame(context_frames)
        return Prediction(last[:, None].expand(-1, num_frames, -1, -1, -1))
