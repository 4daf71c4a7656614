from __future__ import annotations

import numpy as np
import torch

from wbgpu.models import ContextMean


def test_the_mean_is_that_of_numpy_rounded_half_up():
    context = torch.randint(0, 256, (2, 4, 3, 8, 10), dtype=torch.uint8)
    frames = ContextMean().predict(context, None, 2).frames
    expected = np.floor(context.numpy().mean(1) + 0.5).astype(np.uint8)
    for step in range(2):
        assert np.array_equal(frames[:, step].numpy(), expected)


def test_bright_frames_do_not_wrap_around():
    """Summed in uint8, two white frames would be grey."""
    context = torch.full((1, 2, 3, 4, 4), 255, dtype=torch.uint8)
    assert ContextMean().predict(context, None, 1).frames.unique().tolist() == [255]
