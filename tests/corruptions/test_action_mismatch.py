from __future__ import annotations

import itertools

import pytest

from tests.corruptions.videos import numbered_video, order
from wbgpu.corruptions import ActionMismatch, corrupt


@pytest.mark.parametrize(
    ("severity", "expected"),
    [(0.5, [0, 1, 2, 3, 4, 5, 6, 7, 6, 5]), (1.0, [0, 1, 2, 3, 4, 5, 4, 3, 2, 1])],
)
def test_the_robot_takes_back_what_it_did(severity, expected):
    assert order(corrupt(numbered_video(10), ActionMismatch(), severity, num_context=2)) == expected


@pytest.mark.parametrize("num_frames", range(1, 9))
def test_no_step_is_larger_than_a_real_one(num_frames):
    shown = order(corrupt(numbered_video(num_frames), ActionMismatch(), 1.0))
    assert all(abs(b - a) == 1 for a, b in itertools.pairwise(shown))
