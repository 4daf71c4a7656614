"""Frames of real and awkward files equal those of two independent decoders."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
import pytest

from tests.video.awkward_files import (
    decode,
    encode,
    pictures,
    remux,
    with_display_matrix,
    with_edit,
)
from wbgpu.errors import VideoError
from wbgpu.video.decoder import check_range


def _read(decoder, path) -> tuple[object, np.ndarray]:
    with decoder.open(path) as reader:
        frames = reader.read(0, reader.info.num_frames)
        return reader.info, np.ascontiguousarray(frames.permute(0, 2, 3, 1).numpy())


def test_corpus_of_awkward_files(decoder, shared):
    """Rotation, edit lists, 10 bit, odd sizes, 4:4:4, full range, AV1, VP9, GIF: every byte."""
    corpus = shared / "data" / "decode_corpus"
    expected = json.loads((corpus / "expected.json").read_text())
    found = {}
    for name in expected:
        info, frames = _read(decoder, corpus / name)
        digest = hashlib.md5(frames.tobytes()).hexdigest()[:8]
        found[name] = (info.num_frames, info.height, info.width, digest)
    assert len(found) == 15
    assert found == {
        name: (e["num_frames"], e["height"], e["width"], e["rgb24_md5_prefix"])
        for name, e in expected.items()
    }


def test_golden_files(decoder, shared):
    """A score would differ from worldbench's if one byte, the size or the frame rate did."""
    golden = shared / "golden"
    expected = json.loads((golden / "expected" / "decode.json").read_text())["files"]
    found, wanted = {}, {}
    for name, entry in expected.items():
        info, frames = _read(decoder, golden / name)
        wanted[name] = (entry["rgb24_sha256"], entry["frame_sha256"], entry["fps"])
        found[name] = (
            hashlib.sha256(frames.tobytes()).hexdigest(),
            [hashlib.sha256(frame.tobytes()).hexdigest()[:16] for frame in frames],
            info.fps,
        )
    assert len(found) > 40
    assert found == wanted


@pytest.mark.parametrize("width", [2, 16, 34, 48, 50, 66, 90, 96, 98, 130, 144, 146, 258])
def test_narrow_frames(decoder, tmp_path, width):
    """FFmpeg pads rows; padding taken for pixels would shear narrow frames or stop the decoder."""
    path = encode(tmp_path / "narrow.mp4", pictures(3, 18, width))
    np.testing.assert_array_equal(_read(decoder, path)[1], decode(path))


@pytest.mark.parametrize(
    ("matrix", "degrees"),
    [((1, 0, 0, 1), 0), ((0, 1, -1, 0), 90), ((-1, 0, 0, -1), 180), ((0, -1, 1, 0), 270)],
)
def test_quarter_turns(decoder, tmp_path, matrix, degrees):
    """A camera mounted on its side: the picture, its size and the reported angle must agree."""
    source = encode(tmp_path / "upright.mp4", pictures(3, 48, 64))
    path = with_display_matrix(source, tmp_path / "turned.mp4", *matrix)
    info, frames = _read(decoder, path)
    assert info.rotation_degrees == degrees
    assert (info.height, info.width) == frames.shape[1:3]
    np.testing.assert_array_equal(frames, np.rot90(decode(source), -degrees // 90, axes=(1, 2)))


@pytest.mark.parametrize(
    ("seconds", "skipped", "num_frames"), [(3, 10, 20), (1, 0, 10), (1.5, 10, 15), (0.1, 0, 1)]
)
def test_edit_lists(decoder, tmp_path, seconds, skipped, num_frames):
    """Discarded frames must not be handed out, nor the last repeated in their place."""
    source = encode(tmp_path / "whole.mp4", pictures(30, 48, 96), options={"g": "12"})
    path = with_edit(source, tmp_path / "edited.mp4", seconds=seconds, skipped_ticks=1024 * skipped)
    info, frames = _read(decoder, path)
    assert info.num_frames == num_frames
    np.testing.assert_array_equal(frames, decode(source)[skipped : skipped + num_frames])


def test_reading_an_edited_file_out_of_order(decoder, shared):
    """Seeking by packet numbers would land five frames off in this file."""
    path = shared / "data" / "decode_corpus" / "discard_first_keyframe.mp4"
    _, frames = _read(decoder, path)
    with decoder.open(path) as reader:
        for start, stop in ((14, 16), (20, 25), (3, 4), (0, 2), (9, 24)):
            read = reader.read(start, stop).permute(0, 2, 3, 1).numpy()
            np.testing.assert_array_equal(read, frames[start:stop])


def test_same_frames_in_two_containers(decoder, tmp_path):
    """H.264 with B-frames scores the same in mp4 and mkv."""
    frames = pictures(9, 48, 64)
    options = {"bf": "3", "b_strategy": "0"}
    mp4 = encode(tmp_path / "a.mp4", frames, options=options)
    mkv = remux(mp4, tmp_path / "a.mkv")
    info_mp4, frames_mp4 = _read(decoder, mp4)
    info_mkv, frames_mkv = _read(decoder, mkv)
    np.testing.assert_array_equal(frames_mp4, frames_mkv)
    assert info_mp4.num_frames == info_mkv.num_frames == 9
    assert info_mp4.fps == info_mkv.fps == 10


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [
        ("a.avi", "mpeg4", "yuv420p"),
        ("a.avi", "mjpeg", "yuvj420p"),
        ("a.webm", "libvpx", "yuv420p"),
        ("a.mov", "libx264", "yuv444p"),
    ],
)
def test_other_kinds_of_file(decoder, tmp_path, name, codec, pixel_format):
    """Containers and codecs that people's simulators write."""
    path = encode(tmp_path / name, pictures(12, 48, 64), codec=codec, pixel_format=pixel_format)
    info, frames = _read(decoder, path)
    assert info.num_frames == 12
    np.testing.assert_array_equal(frames, decode(path))


def test_odd_size(decoder, tmp_path):
    """17x13 in 4:4:4: no macro block padding, no rounding to even."""
    path = encode(tmp_path / "odd.mp4", pictures(7, 13, 17), pixel_format="yuv444p")
    info, frames = _read(decoder, path)
    assert (info.width, info.height, info.num_frames) == (17, 13, 7)
    np.testing.assert_array_equal(frames, decode(path))


def test_path_that_looks_like_a_protocol(decoder, tmp_path, monkeypatch):
    """FFmpeg would read "a:b.mp4" as protocol a."""
    encode(tmp_path / "source.mp4", pictures(3, 48, 64)).rename(tmp_path / "a:b %03d é.mp4")
    monkeypatch.chdir(tmp_path)
    info, frames = _read(decoder, "a:b %03d é.mp4")
    assert info.path == "a:b %03d é.mp4"
    assert len(frames) == 3


@pytest.mark.parametrize(("start", "stop"), [(-1, 0), (2, 1), (0, 5), (5, 6)])
def test_range_outside_names_the_file(decoder, tmp_path, start, stop):
    """An off-by-one in a caller must not give frames of somewhere else."""
    with decoder.open(encode(tmp_path / "four.mp4", pictures(4, 48, 64))) as reader:
        with pytest.raises(ValueError, match=r"four\.mp4.*has 4 frame"):
            check_range(reader.info, start, stop)
        with pytest.raises(ValueError, match=r"four\.mp4.*has 4 frame"):
            reader.read(start, stop)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_refused_at_once(decoder, tmp_path):
    """Opening a pipe waits for a writer, for ever; a device has no end."""
    os.mkfifo(tmp_path / "pipe.mp4")
    (tmp_path / "device.mp4").symlink_to("/dev/zero")
    for name in ("pipe.mp4", "device.mp4"):
        with pytest.raises(VideoError, match=f"{name}: is a folder, pipe or device, not a file"):
            decoder.open(tmp_path / name)
