"""A video in which each frame says which one it is."""

from __future__ import annotations

import torch
from torch import Tensor

HEIGHT, WIDTH = 24, 32


def numbered_video(num_frames: int) -> Tensor:
    """Frame i is of level i everywhere, uint8 ``[num_frames, 3, 24, 32]``."""
    levels = torch.arange(num_frames, dtype=torch.uint8).reshape(-1, 1, 1, 1)
    return levels.expand(-1, 3, HEIGHT, WIDTH).contiguous()


def order(video: Tensor) -> list[int]:
    """Which frames of a `numbered_video` stand in a video made of it."""
    return video[:, 0, 0, 0].tolist()


def textured_video(num_frames: int, seed: int = 0) -> Tensor:
    """Random texture of levels 80 to 170 in every frame, in which a bright square moves."""
    generator = torch.Generator().manual_seed(seed)
    texture = torch.randint(80, 171, (1, 3, HEIGHT, WIDTH), generator=generator, dtype=torch.uint8)
    video = texture.repeat(num_frames, 1, 1, 1)
    for index in range(1, num_frames):
        left = index % (WIDTH - 8)
        video[index, :, 8:16, left : left + 8] = 230
    return video
