from __future__ import annotations

from tests.corruptions.videos import numbered_video, order
from wbgpu.corruptions import PrematureMotion, corrupt


def test_motion_runs_ahead_and_the_last_frame_stays():
    video = numbered_video(8)
    assert order(corrupt(video, PrematureMotion(), 1.0, num_context=2)) == [0, 1, 3, 5, 7, 7, 7, 7]
    half = order(corrupt(video, PrematureMotion(), 0.5, num_context=2))
    assert half == [0, 1, 3, 4, 6, 7, 7, 7]
