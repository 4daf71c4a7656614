from __future__ import annotations

import pytest

from tests.corruptions.videos import numbered_video, order
from wbgpu.corruptions import Freeze, corrupt


@pytest.mark.parametrize(
    ("severity", "expected"),
    [
        (0.25, [0, 1, 2, 3, 4, 5, 6, 7, 7, 7]),
        (0.5, [0, 1, 2, 3, 4, 5, 5, 5, 5, 5]),
        (1.0, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_the_last_frames_stand_still(severity, expected):
    assert order(corrupt(numbered_video(10), Freeze(), severity, num_context=2)) == expected
