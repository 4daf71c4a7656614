from __future__ import annotations

from tests.corruptions.videos import textured_video
from wbgpu.corruptions import ColourShift, corrupt


def test_red_rises_and_blue_falls():
    video = textured_video(3).clamp(40, 200)
    change = corrupt(video, ColourShift(max_levels=32), 0.5).int() - video.int()
    for channel, expected in enumerate([16, 0, -16]):
        assert change[1:, channel].unique().tolist() == [expected]
