from __future__ import annotations

import pytest

from tests.corruptions.videos import numbered_video, order
from wbgpu.corruptions import TimeShift, corrupt
from wbgpu.errors import ConfigurationError


def test_everything_comes_late_and_the_last_context_frame_fills_the_gap():
    video = numbered_video(10)
    assert order(corrupt(video, TimeShift(4), 0.5, num_context=2)) == [0, 1, 1, 1, 2, 3, 4, 5, 6, 7]
    assert order(corrupt(video, TimeShift(40), 1.0, num_context=2)) == [0] + [1] * 9


@pytest.mark.parametrize("lag", [0, -1, 1.5, True])
def test_a_lag_that_is_none_is_refused(lag):
    with pytest.raises(ConfigurationError, match="max_frames: expected a positive integer"):
        TimeShift(lag)
