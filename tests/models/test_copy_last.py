from __future__ import annotations

import pytest
import torch

from wbgpu.errors import ConfigurationError
from wbgpu.models import CopyLast


def test_every_future_frame_is_the_last_context_frame():
    context = torch.randint(0, 256, (2, 3, 3, 8, 10), dtype=torch.uint8)
    frames = CopyLast().predict(context, None, 4).frames
    assert frames.shape == (2, 4, 3, 8, 10)
    for step in range(4):
        assert torch.equal(frames[:, step], context[:, 2])


def test_without_context_it_says_what_to_set():
    with pytest.raises(ConfigurationError, match=r"suite\.num_context"):
        CopyLast().predict(torch.zeros(1, 0, 3, 8, 8, dtype=torch.uint8), None, 1)
