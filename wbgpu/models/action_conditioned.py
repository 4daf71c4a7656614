"""A small convolutional network that predicts frame by frame from the last frames and the action.

Big enough to learn what a robot's arm does in ten episodes, small enough to be trained on a CPU. It
is an example and a yardstick, not a serious world model.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from wbgpu.errors import ConfigurationError
from wbgpu.models.world_model import Prediction, last_frame, to_uint8

_STRIDE = 8


class ActionConditioned(nn.Module):
    """Adds a learned change to the last frame; the action scales and shifts the code of the frames.

    Args:
        num_actions: A, numbers of an action; 0 for a network that is given none.
        num_inputs: last frames that it sees.
        channels: of the first layer; the code has four times as many.

    Raises:
        ConfigurationError: a negative number of actions, or nothing to see or to work with.
    """

    def __init__(self, num_actions: int = 0, num_inputs: int = 2, channels: int = 16) -> None:
        super().__init__()
        if num_actions < 0 or num_inputs < 1 or channels < 1:
            raise ConfigurationError(
                "model.arguments: expected num_actions >= 0, num_inputs >= 1 and channels >= 1, "
                f"got {num_actions}, {num_inputs} and {channels}"
            )
        self.num_actions = num_actions
        self.num_inputs = num_inputs
        sizes = (3 * num_inputs, channels, 2 * channels, 4 * channels)
        self.down = nn.ModuleList(
            nn.Conv2d(inner, outer, 4, stride=2, padding=1) for inner, outer in pairwise(sizes)
        )
        self.middle = nn.Conv2d(sizes[3], sizes[3], 3, padding=1)
        self.modulation = nn.Linear(num_actions, 2 * sizes[3]) if num_actions else None
        self.up = nn.ModuleList(
            nn.Conv2d(inner, outer, 3, padding=1)
            for inner, outer in ((sizes[3] + sizes[2], sizes[2]), (sizes[2] + sizes[1], sizes[1]))
        )
        self.change = nn.Conv2d(sizes[1] + sizes[0], 3, 3, padding=1)
        # At first the network copies the last frame.
        nn.init.zeros_(self.change.weight)
        assert self.change.bias is not None
        nn.init.zeros_(self.change.bias)

    def forward(self, frames: Tensor, action: Tensor | None = None) -> Tensor:
        """The next frame, which training compares with the true one.

        Args:
            frames: float ``[B, num_inputs, 3, H, W]`` in [0, 1], the last frames in order.
            action: float ``[B, A]``, which leads from the last frame to the next; ``None`` for a
                network without actions.

        Returns:
            float ``[B, 3, H, W]``, not clamped.
        """
        height, width = frames.shape[-2:]
        padding = (0, -width % _STRIDE, 0, -height % _STRIDE)
        whole = functional.pad(frames.flatten(1, 2), padding, mode="replicate")
        codes = [whole]
        for layer in self.down:
            codes.append(functional.gelu(layer(codes[-1])))
        code = self.middle(codes[3])
        if self.modulation is not None:
            scale, shift = self.modulation(self._checked(action))[..., None, None].chunk(2, 1)
            code = code * (1 + scale) + shift
        code = functional.gelu(code) + codes[3]
        for layer, beside in zip(self.up, (codes[2], codes[1]), strict=True):
            larger = functional.interpolate(code, scale_factor=2.0, mode="nearest")
            code = functional.gelu(layer(torch.cat((larger, beside), 1)))
        larger = functional.interpolate(code, scale_factor=2.0, mode="nearest")
        change: Tensor = self.change(torch.cat((larger, whole), 1))
        return frames[:, -1] + change[..., :height, :width]

    def predict(
        self, context_frames: Tensor, actions: Tensor | None, num_frames: int
    ) -> Prediction:
        """See `wbgpu.models.WorldModel`.

        The context is given as it is; where it is shorter than ``num_inputs``, its first frame is
        repeated.
        """
        last_frame(context_frames)
        num_context = context_frames.shape[1]
        first = context_frames[:, :1].expand(-1, max(0, self.num_inputs - num_context), -1, -1, -1)
        seen = torch.cat((first, context_frames[:, -self.num_inputs :]), 1).float() / 255
        frames = []
        for step in range(num_frames):
            action = None if actions is None else actions[:, num_context - 1 + step]
            following = self(seen, action).clamp(0, 1)
            frames.append(to_uint8(following))
            seen = torch.cat((seen[:, 1:], following[:, None].to(seen.dtype)), 1)
        return Prediction(torch.stack(frames, 1))

    def _checked(self, action: Tensor | None) -> Tensor:
        if action is None:
            raise ConfigurationError(
                f"suite.actions: the model needs actions of {self.num_actions} numbers, but the "
                "suite has none; name the folder that holds them"
            )
        if action.shape[-1] != self.num_actions:
            raise ConfigurationError(
                f"suite.actions: the model needs actions of {self.num_actions} numbers, got "
                f"{action.shape[-1]}"
            )
        return action
