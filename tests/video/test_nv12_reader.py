"""Ranges from a stream of planes: order, rotation, ends and failures, on real files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch

from tests.video.awkward_files import encode, pictures, with_display_matrix, with_edit
from tests.video.tagged_files import encode_tagged, nv12_frames
from wbgpu.errors import VideoError
from wbgpu.video import nv12_reader
from wbgpu.video.nv12_reader import Nv12Reader
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.yuv import yuv_to_rgb_coefficients

MATRICES = {90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}


def _open(path, decode=None, **changes):
    """A reader that the CPU feeds, and what PyAV gives."""
    with PyavDecoder().open(path) as reader:
        info, frames = reader.info, reader.read(0, reader.info.num_frames)
    coefficients = yuv_to_rgb_coefficients(info.color_space, info.color_range)
    assert coefficients is not None
    feed = decode or partial(nv12_frames, path)
    return Nv12Reader(replace(info, **changes), coefficients, feed), frames


def _assert_ranges(reader, frames):
    assert frames.shape[0] > 20
    for start, stop in ((0, 2), (2, 3), (5, 20), (19, 20), (1, 19), (0, 1), (4, 4), (20, 20)):
        read = reader.read(start, stop)
        assert torch.equal(read, frames[start:stop]), (start, stop)
        assert read.permute(0, 2, 3, 1).is_contiguous()
    assert torch.equal(reader.read(0, len(frames)), frames)


@pytest.mark.parametrize("batch", [1, 3, 16])
def test_ranges(tmp_path, monkeypatch, batch):
    """Forwards, backwards, empty, across batches; a frame late or early scores another frame."""
    monkeypatch.setattr(nv12_reader, "_BATCH", batch)
    reader, frames = _open(encode(tmp_path / "a.mp4", pictures(23, 48, 64)))
    with reader:
        assert reader.peek() is not None
        _assert_ranges(reader, frames)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation(tmp_path, degrees):
    """Planes are as stored; what is read is upright."""
    source = encode(tmp_path / "upright.mp4", pictures(23, 48, 64))
    path = with_display_matrix(source, tmp_path / "turned.mp4", *MATRICES[degrees])
    reader, frames = _open(path)
    assert reader.info.rotation_degrees == degrees
    with reader:
        _assert_ranges(reader, frames)


def test_edit_list_and_tags(tmp_path):
    """Only presented frames, in the video's own colours."""
    source = encode(tmp_path / "whole.mp4", pictures(30, 48, 96), options={"g": "12"})
    path = with_edit(source, tmp_path / "edited.mp4", seconds=2.2, skipped_ticks=8 * 1024)
    reader, frames = _open(path)
    with reader:
        _assert_ranges(reader, frames)
    reader, frames = _open(encode_tagged(tmp_path / "b.mp4", "bt709", "full", num_frames=21))
    with reader:
        _assert_ranges(reader, frames)


def test_frames_belong_to_the_caller(tmp_path):
    """Reading on must not change what was read, although planes are kept in one buffer."""
    reader, frames = _open(encode(tmp_path / "a.mp4", pictures(23, 48, 64)))
    with reader:
        first = reader.read(0, 2)
        reader.read(2, 23)
        assert torch.equal(first, frames[:2])


def test_streams_ahead_by_nothing(tmp_path):
    """Memory must not grow with the video: frames are taken when they are asked for."""
    taken = 0

    def counting():
        nonlocal taken
        for planes in nv12_frames(path):
            taken += 1
            yield planes

    path = encode(tmp_path / "a.mp4", pictures(23, 48, 64))
    reader, _ = _open(path, counting)
    with reader:
        reader.peek()
        assert taken == 1
        reader.read(0, 3)
        assert taken == 3
        reader.read(10, 12)
        assert taken == 12


def test_fewer_frames_than_counted(tmp_path):
    """The end must not come early in silence."""
    path = encode(tmp_path / "a.mp4", pictures(9, 48, 64))
    reader, _ = _open(path, num_frames=10)
    with reader, pytest.raises(VideoError, match=r"a\.mp4: unreadable at frame 9 of 10.*no frame"):
        reader.read(0, 10)


def test_more_frames_than_counted(tmp_path):
    """Then the count that alignment used was wrong."""
    path = encode(tmp_path / "a.mp4", pictures(9, 48, 64))
    reader, _ = _open(path, num_frames=8)
    with reader:
        reader.read(0, 7)
        with pytest.raises(VideoError, match=r"a\.mp4: it has more than the 8 frames"):
            reader.read(7, 8)


def test_failure_in_the_middle(tmp_path):
    """The error names the file, the frame and the decoder's words."""

    def failing():
        for index, planes in enumerate(nv12_frames(path)):
            if index == 4:
                raise RuntimeError("surface lost")
            yield planes

    path = encode(tmp_path / "a.mp4", pictures(9, 48, 64))
    reader, frames = _open(path, failing)
    with reader:
        assert torch.equal(reader.read(0, 4), frames[:4])
        with pytest.raises(VideoError, match=r"a\.mp4: unreadable at frame 4 of 9.*surface lost"):
            reader.read(4, 6)


def test_picture_of_another_size(tmp_path):
    """Coded and shown size confused: the frame would be sheared or padded."""
    path = encode(tmp_path / "a.mp4", pictures(9, 48, 64))
    other = encode(tmp_path / "b.mp4", pictures(9, 46, 64))
    reader, _ = _open(path, partial(nv12_frames, other))
    with reader, pytest.raises(VideoError, match=r"a\.mp4: unreadable.*its picture is 64x46"):
        reader.read(0, 1)


def test_closed(tmp_path):
    """Closing twice is fine; reading afterwards is not."""
    reader, _ = _open(encode(tmp_path / "a.mp4", pictures(9, 48, 64)))
    reader.close()
    reader.close()
    with pytest.raises(VideoError, match="the reader is closed"):
        reader.read(0, 1)
