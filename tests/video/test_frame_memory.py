"""Frames in pages of their own behave like any other array."""

from __future__ import annotations

import math
import weakref

import numpy as np
import pytest
import torch

from tests.statistics.forking import assert_works_in_a_fork, needs_fork
from wbgpu.video import frame_memory
from wbgpu.video.frame_memory import empty_frames

SIZES = [(0, 8, 8), (1, 1, 1), (3, 17, 13), (2, 480, 640), (42, 256, 256)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_shape_and_writing(size):
    """Read-only memory would fail in the decoder; too little of it would crash."""
    frames = empty_frames(*size)
    assert frames.shape == (*size, 3)
    assert frames.dtype == np.uint8
    assert frames.flags.writeable
    assert frames.flags.c_contiguous
    expected = np.random.default_rng(0).integers(0, 256, frames.shape, dtype=np.uint8)
    frames[...] = expected
    tensor = torch.from_numpy(frames).permute(0, 3, 1, 2)
    np.testing.assert_array_equal(tensor.permute(0, 2, 3, 1).numpy(), expected)


def test_two_are_not_the_same_memory():
    """Frames of the prediction would be compared with themselves."""
    first, second = empty_frames(8, 256, 256), empty_frames(8, 256, 256)
    first[...] = 1
    second[...] = 2
    assert int(first.max()) == 1


def test_pages_live_as_long_as_a_view_and_no_longer(monkeypatch):
    """Freed too early is a crash, too late is a leak."""
    made = []

    class Pages(frame_memory.mmap.mmap):
        def __init__(self, *arguments, **named):
            made.append(weakref.ref(self))

    monkeypatch.setattr(frame_memory.mmap, "mmap", Pages)
    frames = empty_frames(8, 256, 256)
    frames[...] = 7
    last = torch.from_numpy(frames).permute(0, 3, 1, 2)[-1:]
    del frames
    (pages,) = made
    assert pages() is not None
    assert last.unique().tolist() == [7]
    del last
    assert pages() is None


@needs_fork
def test_a_forked_process_has_its_own_copy():
    """Shared pages would let a child write into the frames that its parent scores."""
    frames = empty_frames(8, 256, 256)
    assert math.prod(frames.shape) >= 1 << 20
    frames[...] = 1
    assert_works_in_a_fork(lambda: frames.fill(2))
    assert frames.min() == frames.max() == 1
