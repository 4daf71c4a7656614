"""A fragmented mp4 that was cut short is found, and a whole one is not accused."""

from __future__ import annotations

import struct

import pytest

from tests.video.awkward_files import cut, encode, pictures
from wbgpu.errors import VideoError
from wbgpu.video.fragments import is_fragment_cut_off
from wbgpu.video.probe import probe

KINDS = ["frag_every_frame", "frag_every_frame+empty_moov", "frag_keyframe+empty_moov"]


def _fragmented(folder, flags):
    return encode(
        folder / "whole.mp4",
        pictures(30, 48, 64),
        options={"g": "5"},
        container_options={"movflags": flags},
    )


@pytest.mark.parametrize("flags", KINDS)
def test_no_cut_loses_frames_in_silence(tmp_path, flags):
    """Such a file announces no count, so two that were cut alike would be scored as whole."""
    whole = _fragmented(tmp_path, flags)
    assert probe(whole).num_frames == 30
    for percent in range(40, 100, 3):
        path = cut(whole, tmp_path / "cut.mp4", percent / 100)
        try:
            num_frames = probe(path).num_frames
        except VideoError:
            continue
        assert num_frames == 30, f"cut at {percent} %"


def _box(kind, content, *, length=None):
    return struct.pack(">I", 8 + len(content) if length is None else length) + kind + content


FRAGMENT = _box(b"moof", bytes(9)) + _box(b"mdat", bytes(20))
LONG = struct.pack(">I4sQ", 1, b"mdat", 16 + 20) + bytes(20)


@pytest.mark.parametrize(
    ("content", "is_cut"),
    [
        (FRAGMENT, False),
        (FRAGMENT[:-1], True),
        (FRAGMENT[:12], True),
        (FRAGMENT + FRAGMENT[:5], True),
        (FRAGMENT + _box(b"mdat", bytes(5), length=0), False),
        (FRAGMENT + LONG, False),
        (FRAGMENT + LONG[:-1], True),
        (FRAGMENT + _box(b"mfra", bytes(20))[:-1], False),
        (_box(b"moov", bytes(9)) + _box(b"mdat", bytes(9))[:-1], False),
        (FRAGMENT + bytes(16), False),
        (b"", False),
    ],
    ids=[
        "whole",
        "in the data",
        "in the first header",
        "in a length",
        "to the end of the file",
        "64-bit length",
        "in 64-bit data",
        "after the frames",
        "no fragments",
        "padding",
        "empty",
    ],
)
def test_where_files_end(tmp_path, content, is_cut):
    """Every legal length of a box, whole and cut."""
    path = tmp_path / "boxes.mp4"
    path.write_bytes(content)
    assert is_fragment_cut_off(path) == is_cut
