from __future__ import annotations

import torch

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import Noise, corrupt


def test_noise_has_its_standard_deviation_and_is_new_in_every_frame():
    video = torch.full((9, 3, 64, 64), 128, dtype=torch.uint8)
    noise = corrupt(video, Noise(max_levels=20), 0.5)[1:].double() - 128
    assert abs(noise.mean()) < 0.2
    assert abs(noise.std() - 10) < 0.2
    correlation = torch.corrcoef(noise.flatten(1))
    assert (correlation - torch.eye(8, dtype=torch.float64)).abs().max() < 0.05


def test_all_severities_scale_the_same_noise():
    """With new noise at each severity a metric's order would be a matter of luck."""
    video = textured_video(3)
    low, high = (corrupt(video, Noise(max_levels=8), s).double() - video for s in (0.5, 1.0))
    assert (high[1:] - 2 * low[1:]).abs().max() <= 1.5
