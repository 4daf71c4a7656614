"""A batch of frames checks itself once, with messages that show what came."""

from __future__ import annotations

import pytest
import torch

from wbgpu.statistics import FrameBatch

FRAMES = torch.zeros((2, 3, 3, 8, 9), dtype=torch.uint8)


def test_rows_of_videos_run_step_by_step():
    """A previous row of another episode would count a cut between episodes as motion."""
    batch = FrameBatch.from_videos(FRAMES, FRAMES, FRAMES[:, 0])
    assert batch.row.tolist() == [0, 1, 2, 3, 4, 5]
    assert batch.previous_row.tolist() == [-1, 0, 1, -1, 3, 4]
    assert batch.context_row.tolist() == [0, 0, 0, 1, 1, 1]
    assert FrameBatch.from_videos(FRAMES, FRAMES).context_row.tolist() == [-1] * 6


def test_frames_are_not_copied():
    """Videos are the largest thing in memory."""
    batch = FrameBatch.from_videos(FRAMES, FRAMES)
    assert batch.target.untyped_storage().data_ptr() == FRAMES.untyped_storage().data_ptr()


@pytest.mark.parametrize("frames", [FRAMES.float() / 255, FRAMES.long(), FRAMES.numpy()])
def test_frames_that_are_not_uint8_are_a_type_error(frames):
    """Floats in [0, 1] cast to uint8 are black frames."""
    with pytest.raises(TypeError, match="expected uint8"):
        FrameBatch.from_videos(frames, FRAMES)
    with pytest.raises(TypeError, match="target: expected uint8"):
        FrameBatch.from_videos(FRAMES, frames)
    with pytest.raises(TypeError, match="context: expected uint8"):
        FrameBatch.from_videos(FRAMES, FRAMES, frames)


@pytest.mark.parametrize(
    "prediction",
    [FRAMES[..., :-1], FRAMES[:, :2], FRAMES[0], FRAMES.movedim(2, -1)],
    ids=["width", "steps", "no batch", "channels last"],
)
def test_shapes_that_differ_are_both_shown(prediction):
    """Which of the two is wrong is the first thing that anybody asks."""
    with pytest.raises(ValueError, match="expected two equal shapes") as error:
        FrameBatch.from_videos(prediction, FRAMES)
    assert str(tuple(prediction.shape)) in str(error.value)
    assert str(tuple(FRAMES.shape)) in str(error.value)


def test_grey_frames_are_refused():
    """Sums count three channels."""
    grey = FRAMES[:, :, :1]
    with pytest.raises(ValueError, match="expected two equal shapes"):
        FrameBatch.from_videos(grey, grey)


def test_context_of_another_size_or_number_is_refused():
    """Broadcast, it would be compared with every episode."""
    with pytest.raises(ValueError, match="context"):
        FrameBatch.from_videos(FRAMES, FRAMES, FRAMES[:, 0, :, :-1])
    with pytest.raises(ValueError, match="context"):
        FrameBatch.from_videos(FRAMES, FRAMES, FRAMES[:1, 0])


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("row", torch.tensor([0, 6]), ValueError),
        ("row", torch.tensor([-1, 0]), ValueError),
        ("previous_row", torch.tensor([-2, 0]), ValueError),
        ("context_row", torch.tensor([0, 0]), ValueError),
        ("previous_row", torch.tensor([0]), ValueError),
        ("row", torch.tensor([0, 1], dtype=torch.int32), TypeError),
    ],
)
def test_bad_indices_are_refused_by_name(name, value, error):
    """Negative ones would wrap round to another episode's frame."""
    frames = FRAMES.flatten(0, 1)
    none = torch.tensor([-1, -1])
    rows = {"row": torch.tensor([0, 1]), "previous_row": none, "context_row": none}
    FrameBatch(frames, frames, context=None, **rows)
    with pytest.raises(error, match=name):
        FrameBatch(frames, frames, context=None, **{**rows, name: value})
