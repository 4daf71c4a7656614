from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wbgpu.episodes.lerobot.timelines import latest_rows, nearest_frames, nearest_rows, timeline


@pytest.mark.parametrize("fps", [5, 10, 24, 30, 50, 60, 29.97])
def test_rows_that_come_with_the_frames_are_their_own(fps: float) -> None:
    """Times are kept as float32, which rounds half of them up: worldbench then takes an action
    that is one step old."""
    times = (np.arange(3000) / fps).astype(np.float32).astype(np.float64)
    for name in ("video", "control"):
        found = timeline(name, times, fps, 3000)
        assert found.num_frames == 3000
        for rows in (found.frames, found.action_rows, found.state_rows, found.referenced_frames):
            np.testing.assert_array_equal(rows, np.arange(3000))


def test_more_rows_than_frames() -> None:
    """30 rows a second on a video of 10: an action is the latest one, a state the nearest."""
    times = np.arange(9) / 30
    video = timeline("video", times, 10, 3)
    assert video.frames.tolist() == [0, 1, 2]
    assert video.timestamps.tolist() == [0.0, 0.1, 0.2]
    assert video.action_rows.tolist() == [0, 3, 6]
    assert video.state_rows.tolist() == [0, 3, 6]
    # Rows 2, 5 and 8 are nearer to the next frame; the last frame is the last there is.
    assert video.referenced_frames.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    control = timeline("control", times, 10, 3)
    assert control.frames.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert control.action_rows.tolist() == list(range(9))
    assert control.timestamps.tolist() == times.tolist()


def test_frames_that_no_row_refers_to_at_the_end_are_left_out() -> None:
    """A frame of the next episode in the file must not end this one, as it does in worldbench."""
    assert timeline("video", np.arange(5) / 10, 10, 6).num_frames == 5
    assert timeline("video", np.arange(5) / 10, 10, None).num_frames == 5


rising = st.lists(
    st.floats(0, 50, allow_nan=False).map(lambda x: round(x, 3)), min_size=1, max_size=40
).map(lambda values: np.asarray(sorted(values)))


@given(rising, rising)
def test_rows_against_a_slow_loop(timestamps: np.ndarray, times: np.ndarray) -> None:
    """Binary searches are off by one at the ends and where times are equal."""
    near = nearest_rows(timestamps, times)
    for time, row in zip(times, near, strict=True):
        distances = [abs(t - time) for t in timestamps]
        assert distances[row] == min(distances)
        # The earlier of two that are equally near, the first of rows with the same time.
        assert row == distances.index(min(distances))
    late = latest_rows(timestamps, times)
    for time, row in zip(times, late, strict=True):
        before = [i for i, t in enumerate(timestamps) if t <= time]
        near_enough = [i for i, t in enumerate(timestamps) if t <= time + 1e-4 + 1e-12]
        assert row in {max(before, default=0), max(near_enough, default=0)}


@given(rising, st.sampled_from([5.0, 29.97, 30.0]))
def test_nearest_frames(timestamps: np.ndarray, fps: float) -> None:
    """No frame lies nearer to a row than the one that is chosen."""
    frames = nearest_frames(timestamps, fps)
    assert (np.abs(frames / fps - timestamps) <= 0.5 / fps + 1e-6).all()
    assert (np.diff(frames) >= 0).all()
