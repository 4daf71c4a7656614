"""Conformance suite for trackers: ``check_tracker(YourTracker())`` in a test of yours."""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.tracking.tracker import Tracker, TrackerSession
from wbgpu.tracking.tracks import Tracks

_NUM_FRAMES = 7


def check_tracker(
    tracker: Tracker, *, height: int = 48, width: int = 64, device: str | torch.device = "cpu"
) -> None:
    """Check everything that `wbgpu.tracking.Tracker` promises.

    Args:
        tracker: the tracker.
        height: pixels of the frames that it is given.
        width: pixels.
        device: where they are.

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    assert isinstance(tracker, Tracker), "expected tracker_id, names and start"
    assert tracker.tracker_id, "expected a tracker_id that says what the tracks are"
    assert tracker.names, "expected the names of one or more roles"
    frames = _moving_square(height, width).to(device)
    before = frames.clone()
    whole = tracker.start().track(frames)
    assert isinstance(whole, Tracks), f"expected Tracks, got {type(whole).__name__}"
    assert whole.names == tracker.names, f"tracks of {whole.names}, expected {tracker.names}"
    assert len(whole) == len(frames), f"{len(whole)} rows of {len(frames)} frames"
    assert whole.position.device == frames.device, f"expected tracks on {frames.device}"
    assert torch.equal(frames, before), "the frames were written to"
    _same(tracker.start().track(frames), whole, "the same video a second time")
    for size in (1, 3):
        _same(_cut(tracker.start(), frames, size), whole, f"the video in parts of {size} frame(s)")
    channels_last = frames.contiguous(memory_format=torch.channels_last)
    _same(tracker.start().track(channels_last), whole, "frames of other strides")
    _check_sessions(tracker, frames, whole)


def _check_sessions(tracker: Tracker, frames: Tensor, whole: Tracks) -> None:
    one, other = tracker.start(), tracker.start()
    rows, other_rows = [], []
    for frame, reflected in zip(
        torch.split(frames, 1), torch.split(frames.flip(3), 1), strict=True
    ):
        rows.append(one.track(frame))
        other_rows.append(other.track(reflected))
    _same(Tracks.cat(rows), whole, "two videos at once")
    alone = tracker.start().track(frames.flip(3))
    _same(Tracks.cat(other_rows), alone, "two videos at once")


def _cut(session: TrackerSession, frames: Tensor, size: int) -> Tracks:
    return Tracks.cat([session.track(part) for part in torch.split(frames, size)])


def _same(tracks: Tracks, expected: Tracks, what: str) -> None:
    for column in ("position", "area", "confidence"):
        got, wanted = getattr(tracks, column), getattr(expected, column)
        same = torch.equal(got.nan_to_num(-1.0), wanted.nan_to_num(-1.0))
        assert same, f"{column} differs for {what}"


def _moving_square(height: int, width: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    background = torch.randint(60, 120, (3, height, width), generator=generator)
    frames = background.repeat(_NUM_FRAMES, 1, 1, 1)
    side = min(height, width) // 3
    texture = torch.randint(0, 256, (3, side, side), generator=generator)
    for index in range(_NUM_FRAMES):
        x, y = index * (width - side) // _NUM_FRAMES, index * (height - side) // _NUM_FRAMES
        frames[index, :, y : y + side, x : x + side] = texture
    return frames.to(torch.uint8)
