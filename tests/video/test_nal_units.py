"""Lost blocks are found in packets, and whole streams are not accused."""

from __future__ import annotations

import pytest

from tests.video.awkward_files import encode, pictures, remux, with_zeroed_bytes
from wbgpu.errors import VideoError
from wbgpu.video.nal_units import has_hole, nal_length_bytes
from wbgpu.video.probe import probe


def _packet(*units: bytes, length_bytes: int = 4) -> bytes:
    return b"".join(len(unit).to_bytes(length_bytes, "big") + unit for unit in units)


@pytest.mark.parametrize("length_bytes", [1, 2, 4])
@pytest.mark.parametrize(
    ("unit", "is_broken"),
    [
        (b"\x65abc", False),
        (b"\x65ab\0\0\3\0c", False),
        (b"\x65ab\0\0\3\0\0\3", False),
        (b"\x65abc\0\0\0\0", False),
        (b"\x65a\0\0\0b", True),
        (b"\x65a\0\0\1b", True),
        (b"\x65a\0\0\2b", True),
    ],
)
def test_forbidden_bytes(unit, is_broken, length_bytes):
    """What the standards forbid inside a unit, and nothing more; zeros may follow a unit."""
    packet = _packet(b"\x09\xf0", unit, b"\x41z", length_bytes=length_bytes)
    assert has_hole(packet, "h264", length_bytes) == is_broken


def test_lengths_are_not_taken_for_content():
    """A unit of 256 bytes has 00 00 01 00 before it."""
    assert not has_hole(_packet(b"\x65" + b"a" * 255, b"\x41" + b"b" * 511), "h264", 4)


@pytest.mark.parametrize(
    ("codec", "unit"),
    [("h264", b"\x06a\0\0\0b"), ("h264", b"\x1ea\0\0\1b"), ("hevc", b"\x4e\1a\0\0\0b")],
)
def test_units_that_are_no_pictures(codec, unit):
    """Side information that programs write without the escapes; decoders pass over it."""
    assert not has_hole(_packet(unit), codec, 4)


def test_start_codes_where_lengths_were_promised():
    """FFmpeg decodes such packets."""
    assert not has_hole(b"\0\0\0\1\x67abc\0\0\0\1\x65abc", "h264", 4)


@pytest.mark.parametrize("header", [b"\x02\1", b"\0\0"])
def test_pictures_of_hevc(header):
    """Their types have other numbers; a header that was lost is no excuse."""
    assert has_hole(_packet(header + b"a\0\0\0b"), "hevc", 4)


@pytest.mark.parametrize("packet", [_packet(b"\x65abc")[:-1], _packet(b"\x65abc") + bytes(8)])
def test_units_that_do_not_fill_the_packet(packet):
    """A cut, or zeros where the next length should be."""
    assert has_hole(packet, "h264", 4)


@pytest.mark.parametrize(
    ("codec", "extradata", "expected"),
    [
        ("h264", bytes([1, 0x64, 0, 0x1F, 0xFF]), 4),
        ("h264", bytes([1, 0x64, 0, 0x1F, 0xFC]), 1),
        ("hevc", bytes([1]) + bytes(20) + bytes([0xFD]), 2),
        ("h264", b"\0\0\0\1gM", None),
        ("h264", bytes([1]), None),
        ("hevc", None, None),
        ("vp9", bytes([1]) * 30, None),
    ],
)
def test_length_bytes(codec, extradata, expected):
    """Streams with start codes may have zeros between units, and other codecs anywhere."""
    assert nal_length_bytes(codec, extradata) == expected


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
@pytest.mark.parametrize("verify", [True, False])
def test_hole_in_a_file(tmp_path, codec, name, verify):
    """Decoders of HEVC notice few of these, and without verifying nothing is decoded."""
    options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    frames = pictures(20, 96, 128)
    whole = encode(tmp_path / "whole.mp4", frames, codec=codec, options=options)
    assert probe(remux(whole, tmp_path / name), verify=verify).num_frames == 20
    holed = with_zeroed_bytes(whole, tmp_path / "holed.mp4", num_bytes=16)
    with pytest.raises(VideoError, match=r"holed\.mp4: unreadable in part: damaged"):
        probe(holed, verify=verify)
