"""A small action-conditioned video predictor: the model under test, as a user of wbgpu has one."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from wbgpu.models import Prediction, to_uint8

SIDE = 64
"""Frames are predicted in this size, and the change is put on the last frame in its own."""


class VideoPredictor(nn.Module):
    """Predicts the next small frame from the last two and the action between.

    The last frame's pixels are moved, and new ones are put where a mask says so, as in Finn,
    Goodfellow and Levine 2016 (arXiv:1605.07157): from few episodes, moving is learned sooner than
    painting.

    Args:
        num_actions: numbers of an action.
        channels: of the first layer.
    """

    def __init__(self, num_actions: int, channels: int = 24) -> None:
        super().__init__()
        wide = 2 * channels
        self.encode = nn.Sequential(
            nn.Conv2d(6, channels, 4, 2, 1),
            nn.GELU(),
            nn.Conv2d(channels, wide, 4, 2, 1),
            nn.GELU(),
        )
        self.act = nn.Linear(num_actions, 2 * wide)
        self.mix = nn.Sequential(
            nn.Conv2d(wide, wide, 5, padding=2), nn.GELU(), nn.Conv2d(wide, wide, 5, padding=2)
        )
        self.decode = nn.Sequential(
            nn.Conv2d(wide, wide, 3, padding=1), nn.GELU(), nn.Conv2d(wide, 6 * 16, 1)
        )
        nn.init.zeros_(self.decode[-1].weight)
        nn.init.zeros_(self.decode[-1].bias)
        centres = (torch.arange(SIDE) + 0.5) * 2 / SIDE - 1
        grid = torch.stack(torch.meshgrid(centres, centres, indexing="xy"), -1)
        self.register_buffer("grid", grid, persistent=False)

    def forward(self, before: Tensor, last: Tensor, action: Tensor) -> Tensor:
        """Frames float ``[B, 3, 64, 64]`` in 0..1, action ``[B, A]``; the next frame likewise."""
        code = self.encode(torch.cat((last - 0.5, last - before), 1))
        scale, shift = self.act(action)[..., None, None].chunk(2, 1)
        code = code + self.mix(functional.gelu(code * (1 + scale) + shift))
        out = functional.pixel_shuffle(self.decode(code), 4)
        flow = 0.25 * torch.tanh(out[:, :2]).permute(0, 2, 3, 1)
        moved = functional.grid_sample(
            last, self.grid + flow, padding_mode="border", align_corners=False
        )
        mask = torch.sigmoid(out[:, 2:3] - 2)
        return (moved + mask * torch.tanh(out[:, 3:])).clamp(0, 1)

    def roll_out(self, frames: Tensor, actions: Tensor) -> Tensor:
        """Predict one frame for each action after ``frames [B, 2, 3, 64, 64]``."""
        before, last = frames.unbind(1)
        predicted = []
        for action in actions.unbind(1):
            before, last = last, self(before, last, action)
            predicted.append(last)
        return torch.stack(predicted, 1)

    def predict(
        self, context_frames: Tensor, actions: Tensor | None, num_frames: int
    ) -> Prediction:
        """What wbgpu calls: uint8 frames in, uint8 frames out."""
        if actions is None:
            raise ValueError("this model needs actions: suite.actions=FOLDER")
        full = context_frames[:, -1].float() / 255
        small = shrink(context_frames[:, -2:].flatten(0, 1)).unflatten(0, (-1, 2))
        first = context_frames.shape[1] - 1
        rolled = self.roll_out(small, actions[:, first : first + num_frames])
        change = (rolled - small[:, -1:]).flatten(0, 1)
        size = full.shape[-2:]
        change = functional.interpolate(change, size, mode="bilinear", align_corners=False)
        return Prediction(frames=to_uint8(full[:, None] + change.unflatten(0, (-1, num_frames))))


def shrink(frames: Tensor) -> Tensor:
    """Frames uint8 ``[N, 3, H, W]`` as float ``[N, 3, 64, 64]`` in 0..1."""
    return functional.interpolate(frames.float() / 255, (SIDE, SIDE), mode="area")
