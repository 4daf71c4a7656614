"""Resized predictions equal worldbench's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from worldbench.runners.video import _resize_rgb_frame

from wbgpu.video.resize import resize_frames


@pytest.mark.parametrize(
    ("height", "width", "to_height", "to_width"),
    [(48, 64, 34, 50), (34, 50, 48, 64), (480, 640, 256, 256), (37, 53, 64, 48), (16, 16, 1, 1)],
)
def test_equal_to_worldbench(height, width, to_height, to_width):
    """Another filter, or one without antialiasing, moves scores of resized predictions."""
    random = np.random.default_rng(height)
    frames = random.integers(0, 256, (3, height, width, 3), dtype=np.uint8)
    resized = resize_frames(
        torch.from_numpy(frames).permute(0, 3, 1, 2), height=to_height, width=to_width
    )
    assert resized.shape == (3, 3, to_height, to_width)
    assert resized.permute(0, 2, 3, 1).is_contiguous()
    expected = np.stack([_resize_rgb_frame(frame, to_width, to_height) for frame in frames])
    np.testing.assert_array_equal(resized.permute(0, 2, 3, 1).numpy(), expected)
