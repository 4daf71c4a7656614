"""Resize predictions as worldbench does: Pillow's antialiased filters, bit for bit.

Pillow itself, because ``torch.nn.functional.interpolate(antialias=True)`` differs by one level at
1 % of the values of uint8 frames (640x480 to 256x256). Always on the CPU, so that devices agree.
"""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from wbgpu.records.video import ResizeRule
from wbgpu.video.frame_memory import empty_frames

_FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


def resize_frames(
    frames: Tensor, *, height: int, width: int, rule: ResizeRule = "bilinear"
) -> Tensor:
    """Resize uint8 RGB frames.

    Args:
        frames: uint8 ``[N, 3, H, W]``, 0..255, on the CPU.
        height: pixels.
        width: pixels.
        rule: names the filter.

    Returns:
        uint8 ``[N, 3, height, width]``, NHWC in memory.
    """
    resized = empty_frames(len(frames), height, width)
    for source, result in zip(frames.permute(0, 2, 3, 1).numpy(), resized, strict=True):
        image = Image.fromarray(np.ascontiguousarray(source))
        result[:] = np.asarray(image.resize((width, height), _FILTERS[rule]))
    return torch.from_numpy(resized).permute(0, 3, 1, 2)
