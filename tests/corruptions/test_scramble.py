from __future__ import annotations

import pytest

from tests.corruptions.videos import numbered_video, order
from wbgpu.corruptions import Scramble, corrupt
from wbgpu.errors import ConfigurationError


def test_groups_are_rotated_and_nothing_is_lost():
    shown = order(corrupt(numbered_video(12), Scramble(), 1.0, num_context=2))
    assert shown == [0, 1, 4, 2, 3, 7, 5, 6, 10, 8, 9, 11]
    pairs = order(corrupt(numbered_video(7), Scramble(group_frames=2), 1.0))
    assert pairs == [0, 2, 1, 4, 3, 6, 5]


@pytest.mark.parametrize("seed", range(5))
def test_a_higher_severity_scrambles_the_same_groups_and_others(seed):
    before: set[int] = set()
    for severity, num_groups in ((0.25, 2), (0.5, 4), (1.0, 7)):
        shown = order(corrupt(numbered_video(22), Scramble(), severity, seed=seed))
        moved = {i for i, source in enumerate(shown) if source != i}
        assert sorted(shown) == list(range(22))
        assert len(moved) == 3 * num_groups
        assert before <= moved
        before = moved


def test_a_scrambled_group_is_one_of_worldbenchs():
    """It rotates windows of three too, the same way or the other."""
    theirs = pytest.importorskip("worldbench.backends.frame_scramble")._scrambled_source_order(
        4, 1.0, 42
    )
    ours = order(corrupt(numbered_video(4), Scramble(), 1.0))
    assert theirs[0] == ours[0] == 0
    assert sorted(theirs) == sorted(ours)
    assert theirs in ([0, 3, 1, 2], [0, 2, 3, 1])


def test_a_group_of_one_is_refused():
    with pytest.raises(ConfigurationError, match="group_frames: expected at least 2"):
        Scramble(group_frames=1)
