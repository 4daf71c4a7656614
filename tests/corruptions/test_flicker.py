from __future__ import annotations

import torch

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import Flicker, corrupt


def test_frames_are_brighter_and_darker_in_turn():
    video = textured_video(7)
    change = corrupt(video, Flicker(max_levels=20), 0.5).int() - video.int()
    assert change[0].unique().tolist() == [0]
    levels = [frame.unique().tolist() for frame in change[1:]]
    assert levels in ([[10], [-10]] * 3, [[-10], [10]] * 3)
    assert torch.equal(change[1], -change[2])
