from __future__ import annotations

import pytest

from tests.corruptions.videos import numbered_video, order
from wbgpu.corruptions import Freeze, Stutter, corrupt


@pytest.mark.parametrize("seed", range(5))
def test_a_share_of_the_frames_repeats_the_frame_shown_before(seed):
    shown_before: set[int] = set()
    for severity in (0.25, 0.5, 0.75):
        shown = order(corrupt(numbered_video(23), Stutter(), severity, num_context=3, seed=seed))
        held = {i for i in range(3, 23) if shown[i] != i}
        assert len(held) == round(20 * severity)
        assert all(shown[i] == shown[i - 1] for i in held), "as worldbench's frame_freeze"
        assert shown_before <= held, "a lower severity holds the same frames and fewer"
        shown_before = held


def test_at_severity_1_it_is_a_freeze():
    video = numbered_video(9)
    stuttered, frozen = (corrupt(video, kind, 1.0, num_context=2) for kind in (Stutter(), Freeze()))
    assert order(stuttered) == order(frozen)


@pytest.mark.parametrize("severity", [0.0, 0.05, 0.15, 0.3, 1.0])
def test_as_many_frames_are_held_as_in_worldbench(severity):
    """Its positions come from other random numbers, but the share must mean the same."""
    theirs = pytest.importorskip("worldbench.backends.frame_freeze")._frozen_positions(
        41, severity, 42
    )
    shown = order(corrupt(numbered_video(41), Stutter(), severity))
    assert sum(a != b for a, b in enumerate(shown)) == len(theirs)
