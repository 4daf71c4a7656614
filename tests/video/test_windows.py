"""One worked example of packing; the loader's tests cover the rest by reassembling videos."""

from __future__ import annotations

import torch

from wbgpu.video.windows import Chunk, Overlap, pack


def _frames(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 2, 2)


def test_end_of_one_episode_with_the_whole_of_another():
    """Steps 4-5 of episode 7 (frame 3 comes along for the difference) beside steps 1-2 of 9."""
    chunks = [
        Chunk(7, 4, _frames(14, 15), _frames(24, 25), _frames(10)),
        Chunk(9, 1, _frames(91, 92), _frames(81, 82), _frames(90)),
    ]
    window = pack(chunks, Overlap(_frames(13), _frames(23)), torch.device("cpu"))
    assert window.target[:, 0, 0, 0].tolist() == [13, 14, 15, 91, 92]
    assert window.prediction[:, 0, 0, 0].tolist() == [23, 24, 25, 81, 82]
    assert window.row.tolist() == [1, 2, 3, 4]
    assert window.previous_row.tolist() == [0, 1, -1, 3]
    assert window.context is not None
    assert window.context[:, 0, 0, 0].tolist() == [10, 90]
    assert window.context_row.tolist() == [0, 0, 1, 1]
    assert window.episode_index.tolist() == [7, 7, 9, 9]
    assert window.step.tolist() == [4, 5, 1, 2]
    for name in ("row", "previous_row", "context_row"):
        assert getattr(window, name).dtype == torch.int64


def test_without_context_frames():
    """No context is None and -1, never somebody else's frame."""
    window = pack([Chunk(0, 1, _frames(1), _frames(2), None)], None, torch.device("cpu"))
    assert window.context is None
    assert window.context_row.tolist() == [-1]
    assert window.previous_row.tolist() == [-1]
