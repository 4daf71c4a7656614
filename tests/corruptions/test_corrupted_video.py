from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.corruptions.videos import numbered_video, order, textured_video
from wbgpu.corruptions import CorruptedVideo, Corruption, Flicker, Freeze, Noise, Rollout, corrupt
from wbgpu.errors import ConfigurationError


def test_severity_0_and_no_corruption_are_the_video_itself():
    """The clean value would otherwise carry part of the fault."""
    video = textured_video(6)
    assert torch.equal(corrupt(video, Noise(), 0.0), video)
    rollout = Rollout(6, 1)
    clean = CorruptedVideo(None, 1.0, rollout, lambda i: video[torch.from_numpy(i)], video[:1])
    assert torch.equal(clean.read(0, 6), video)


def test_the_first_frame_stays_without_a_context():
    video = textured_video(6)
    assert torch.equal(corrupt(video, Flicker(), 1.0)[:1], video[:1])
    assert order(corrupt(numbered_video(5), Freeze(), 1.0)) == [0] * 5


def test_each_episode_and_seed_has_its_own_random_numbers():
    video = textured_video(6)
    first = corrupt(video, Noise(), 1.0, episode_id="a")
    assert not torch.equal(first, corrupt(video, Noise(), 1.0, episode_id="b"))
    assert not torch.equal(first, corrupt(video, Noise(), 1.0, episode_id="a", seed=1))
    assert torch.equal(first, corrupt(video, Noise(), 1.0, episode_id="a"))


@pytest.mark.parametrize("severity", [-0.1, 1.5, float("nan"), True, "1"])
def test_a_severity_out_of_range_is_refused(severity):
    with pytest.raises(ConfigurationError, match="severity: expected a number from 0 to 1"):
        corrupt(textured_video(3), Freeze(), severity)


def test_frames_that_are_none_are_refused():
    video = textured_video(3)
    with pytest.raises(TypeError, match="uint8"):
        corrupt(video.float(), Freeze(), 1.0)
    with pytest.raises(ValueError, match=r"expected \[N, 3, H, W\]"):
        corrupt(video[:0], Freeze(), 1.0)
    with pytest.raises(ValueError, match=r"1 to num_frames \(3\), got 4"):
        corrupt(video, Freeze(), 1.0, num_context=4)


class _Wrong(Corruption):
    fault = "is wrong"

    def __init__(self, sources=None, frames=None):
        self.sources, self.frames = sources, frames

    def source_frames(self, rollout, severity):
        return np.arange(rollout.num_frames) if self.sources is None else np.array(self.sources)

    def change(self, frames, index, reference, rollout, severity):
        return frames if self.frames is None else self.frames


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (_Wrong(sources=[0, 1]), r"_Wrong.source_frames: expected \[3\], got \[2\]"),
        (_Wrong(sources=[0, 1, 3]), r"expected frames 0 to 2, got 0 to 3"),
        (_Wrong(sources=[0, -1, 1]), r"got -1 to 1"),
        (_Wrong(frames=torch.zeros(2, 3, 4, 4)), r"_Wrong.change: expected uint8"),
    ],
)
def test_what_a_corruption_of_somebody_else_does_wrong_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        corrupt(textured_video(3), wrong, 1.0)
