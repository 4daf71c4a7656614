from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import ndimage

from wbgpu.errors import ConfigurationError
from wbgpu.models import Blur, CopyLast


@pytest.mark.parametrize("size", [3, 5, 9, 21])
def test_it_is_scipys_box_blur_of_the_last_context_frame(size):
    """21 is wider than the frame: the border must hold there as well."""
    context = torch.randint(0, 256, (2, 2, 3, 12, 15), dtype=torch.uint8)
    frames = Blur(size).predict(context, None, 3).frames.numpy()
    last = context[:, -1].double().numpy()
    blurred = ndimage.uniform_filter(last, (1, 1, size, size), mode="nearest")
    for step in range(3):
        # Half a level, and what is left of scipy's running sums.
        assert np.abs(frames[:, step] - blurred).max() <= 0.5 + 1e-9


def test_a_box_of_one_pixel_copies():
    context = torch.randint(0, 256, (1, 1, 3, 6, 7), dtype=torch.uint8)
    ours = Blur(1).predict(context, None, 2).frames
    assert torch.equal(ours, CopyLast().predict(context, None, 2).frames)


@pytest.mark.parametrize("size", [0, -3, 4, 2.5])
def test_other_sizes_are_refused(size):
    with pytest.raises(ConfigurationError, match=r"model\.size: expected an odd"):
        Blur(size)
