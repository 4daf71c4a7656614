"""The tracker for real video: displacements that are known, and its promises."""

from __future__ import annotations

import sys

import pytest
import torch

from wbgpu.errors import ConfigurationError
from wbgpu.tracking import FlowTracker, check_tracker


def _scene(path, height=80, width=96, side=24, seed=0):
    """A smooth textured square on a smooth still background, its corner at ``path``."""
    generator = torch.Generator().manual_seed(seed)

    def texture(rows, columns, low, high):
        coarse = torch.rand((1, 3, rows // 4 + 2, columns // 4 + 2), generator=generator)
        smooth = torch.nn.functional.interpolate(coarse, (rows, columns), mode="bilinear")
        return (low + (high - low) * smooth[0]).round().to(torch.uint8)

    frames = texture(height, width, 40, 120).repeat(len(path), 1, 1, 1)
    square = texture(side, side, 60, 255)
    for frame, (x, y) in zip(frames, path, strict=True):
        frame[:, y : y + side, x : x + side] = square
    return frames


def test_keeps_the_contract():
    """Cuts, sessions and strides change nothing."""
    check_tracker(FlowTracker())


@pytest.mark.parametrize("step", [(3, 0), (0, 4), (-3, 2), (6, -3)])
def test_follows_a_moving_square(step):
    """Within three quarters of a pixel a step: its own displacement, and with the right sign."""
    path = [(36 + i * step[0], 28 + i * step[1]) for i in range(5)]
    tracks = FlowTracker().start().track(_scene(path))
    moved = tracks.position[:, 0].diff(dim=0)
    expected = torch.tensor(step).double().expand_as(moved)
    torch.testing.assert_close(moved, expected, rtol=0, atol=0.75)
    assert tracks.position[0, 0].tolist() == [47.5, 39.5]
    assert (tracks.confidence > 0.3).all()


def test_a_still_scene_does_not_move():
    """Nor does noise of a level or two, which every codec makes."""
    frames = _scene([(36, 28)] * 4)
    noise = torch.randint(-2, 3, frames.shape, generator=torch.Generator().manual_seed(1))
    noisy = (frames + noise).clamp(0, 255).to(torch.uint8)
    for still in (frames, noisy):
        tracks = FlowTracker().start().track(still)
        assert (tracks.position == tracks.position[:1]).all()
        assert tracks.seen.all()
    assert FlowTracker().start().track(frames).confidence.tolist() == [[1.0]] * 4


def test_no_frames_make_no_rows():
    """A window may hold none of an episode."""
    tracks = FlowTracker().start().track(_scene([(0, 0)])[:0])
    assert len(tracks) == 0


def test_settings_are_part_of_the_id():
    """Tracks of other settings are not compared."""
    ids = {
        tracker.tracker_id
        for tracker in (FlowTracker(), FlowTracker(min_motion=2), FlowTracker(min_area=0.01))
    }
    assert len(ids) == 3
    assert FlowTracker().tracker_id == "flow/dis-1.0"


def test_frames_that_it_cannot_take_are_refused():
    """Floats would be rounded to black, and small frames have no flow."""
    frames = _scene([(0, 0)])
    with pytest.raises(ValueError, match="expected uint8"):
        FlowTracker().start().track(frames.float())
    with pytest.raises(ValueError, match="16 pixels or more"):
        FlowTracker().start().track(frames[..., :8, :8])
    session = FlowTracker().start()
    session.track(frames)
    with pytest.raises(ValueError, match="expected one size in one video"):
        session.track(frames[..., :64, :64])


@pytest.mark.parametrize(
    "setting", [{"min_motion": 0}, {"max_round_trip": float("nan")}, {"min_area": 1}]
)
def test_settings_out_of_range_are_refused(setting):
    """A threshold of 0 would take noise for motion."""
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        FlowTracker(**setting)


def test_says_what_to_install(monkeypatch):
    """OpenCV is an extra."""
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ConfigurationError, match=r"install wbgpu\[tracking\]"):
        FlowTracker()
