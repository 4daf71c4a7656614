"""Keeping frames or streaming them gives the same video."""

from __future__ import annotations

import av
import numpy as np
import pytest
import torch

from tests.video.awkward_files import decode, encode, patch, pictures, with_display_matrix
from tests.video.long_videos import limit_kept_pixels
from tests.video.tagged_files import encode_tagged
from wbgpu.errors import ConfigurationError, VideoError
from wbgpu.video import pyav
from wbgpu.video.pyav import PyavDecoder


@pytest.mark.parametrize("max_pixels", [0, 48 * 64 * 9, 48 * 64 * 10])
def test_limit_of_kept_frames(tmp_path, monkeypatch, max_pixels):
    """Frames kept up to the limit and no further; one too few would end the video early."""
    path = encode(tmp_path / "ten.mp4", pictures(10, 48, 64))
    expected = PyavDecoder().open(path).read(0, 10)
    limit_kept_pixels(monkeypatch, max_pixels)
    with PyavDecoder().open(path) as reader:
        assert (reader._decoded is None) == (max_pixels < 48 * 64 * 10)
        read = torch.cat([reader.read(0, 4), reader.read(4, 10)])
    np.testing.assert_array_equal(read.numpy(), expected.numpy())


def test_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    """A streamed file replaced under us must fail, not end early."""
    limit_kept_pixels(monkeypatch, 0)
    path = encode(tmp_path / "ten.mp4", pictures(10, 48, 64))
    with PyavDecoder().open(path) as reader:
        encode(path, pictures(5, 48, 64))
        with pytest.raises(VideoError, match=r"ten\.mp4: unreadable at frame 5 of 10"):
            reader.read(0, 10)


def test_negative_threads():
    """A typo in a configuration must not reach FFmpeg."""
    with pytest.raises(ConfigurationError, match="num_threads"):
        PyavDecoder(num_threads=-1)


def test_colours_without_a_conversion(tmp_path):
    """FFmpeg has none for BT.2020 with constant luminance; that must fail one episode, not all."""
    path = encode_tagged(tmp_path / "constant.mp4", "bt2020c", None)
    with (
        PyavDecoder().open(path) as reader,
        pytest.raises(VideoError, match=r"constant\.mp4: its colours \(yuv420p, bt2020c\)"),
    ):
        reader.read(0, 1)


def test_damage_is_found_while_a_long_video_is_read(tmp_path, monkeypatch):
    """What the check of a short video finds must not pass as whole in a long one."""
    whole = encode(tmp_path / "whole.mp4", pictures(30, 96, 128))
    size = whole.stat().st_size
    found = []
    for position in range(size // 10, size * 9 // 10, size // 15):
        bad = patch(whole, tmp_path / f"{position}.mp4", position, b"\xff" * 60)
        try:
            PyavDecoder().open(bad).close()
        except VideoError:
            found.append(bad)
    assert len(found) >= 5
    limit_kept_pixels(monkeypatch, 0)
    for bad in found:
        with pytest.raises(VideoError, match=rf"{bad.name}: unread"), PyavDecoder().open(bad) as r:
            r.read(0, 30)


def test_a_long_video_is_decoded_once(tmp_path, monkeypatch):
    """Decoding it first to count and then to read would cost a long evaluation half its speed."""
    path = encode(tmp_path / "ten.mp4", pictures(10, 48, 64))
    limit_kept_pixels(monkeypatch, 0)
    probed = []
    monkeypatch.setattr(pyav.KeptFrames, "add", lambda _, frame: probed.append(frame))
    with PyavDecoder().open(path) as reader:
        assert len(reader.read(0, 10)) == 10
    assert len(probed) == 1


def test_a_long_video_cut_out_of_another(tmp_path, monkeypatch):
    """Its first pictures refer to what was cut off and are not shown: more packets than frames."""
    options = {"x264-params": "open-gop=1:bframes=3:keyint=10:scenecut=0"}
    whole = encode(tmp_path / "whole.mkv", pictures(40, 48, 64), options=options)
    cut_out = tmp_path / "cut.mkv"
    with av.open(str(whole)) as old, av.open(str(cut_out), "w") as new:
        stream = new.add_stream_from_template(old.streams.video[0])
        num_keyframes = 0
        for packet in old.demux(video=0):
            num_keyframes += packet.is_keyframe
            if packet.size and num_keyframes > 1:
                packet.stream = stream
                new.mux(packet)
    expected = decode(cut_out)
    limit_kept_pixels(monkeypatch, 0)
    with PyavDecoder().open(cut_out) as reader:
        assert reader.info.num_frames == len(expected)
        np.testing.assert_array_equal(_nhwc(reader.read(0, len(expected))), expected)


@pytest.mark.parametrize("degrees", [0, 90])
def test_a_size_that_turns_in_a_long_video(tmp_path, monkeypatch, degrees):
    """One bad file must fail alone, not as a fault of the program that ends the run."""
    path = encode(tmp_path / "a.mp4", pictures(10, 48, 64))
    if degrees:
        path = with_display_matrix(path, tmp_path / "b.mp4", 0, 1, -1, 0)
    limit_kept_pixels(monkeypatch, 0)
    with PyavDecoder().open(path) as reader:
        assert len(reader.read(0, 4)) == 4
        turned = av.VideoFrame(48, 64, "yuv420p")
        monkeypatch.setattr(reader, "_stream", iter([turned]))
        with pytest.raises(VideoError, match="its size changes to 48x64"):
            reader.read(4, 5)
        monkeypatch.setattr(reader, "_stream", (frame for frame in ()))


def _nhwc(frames):
    return frames.permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.webm"])
def test_a_long_video_is_described_like_a_short_one(tmp_path, monkeypatch, name):
    """A frame rate read after closing was sometimes another one, and refused the pair."""
    codec = "libvpx-vp9" if name == "a.webm" else "libx264"
    path = encode(tmp_path / name, pictures(30, 48, 64), codec=codec, rate=7)
    expected = PyavDecoder().open(path).info
    assert expected.fps == 7
    limit_kept_pixels(monkeypatch, 0)
    for _ in range(20):
        assert PyavDecoder().open(path).info == expected


def _shuffled_reads(path, num_frames):
    with PyavDecoder().open(path) as reader:
        order = np.random.default_rng(0).permutation(num_frames).tolist()
        return {index: reader.read(index, index + 1)[0] for index in order}


@pytest.mark.parametrize(
    "name",
    [
        "av1_video.mkv",
        "discard_first_keyframe.mp4",
        "h265_video.mp4",
        "test_non_zero_start.mp4",
        "testsrc2_vp9.webm",
        "animated.gif",
    ],
)
def test_seeking_gives_the_frames_of_reading_through(shared, monkeypatch, name):
    """Edit lists, pictures before their keyframe, times that start late: a seek lands elsewhere."""
    path = shared / "data/decode_corpus" / name
    with PyavDecoder().open(path) as reader:
        num_frames = min(reader.info.num_frames, 40)
        expected = reader.read(0, num_frames)
    limit_kept_pixels(monkeypatch, 0)
    monkeypatch.setattr(pyav, "_MOST_FRAMES_PASSED_OVER", 0)
    for index, frame in _shuffled_reads(path, num_frames).items():
        assert torch.equal(frame, expected[index]), index


def test_a_later_part_of_a_long_video_is_not_decoded_from_the_start(tmp_path, monkeypatch):
    """With a hundred episodes in a file, each would cost the decoding of all before it."""
    path = encode(tmp_path / "long.mp4", pictures(120, 48, 64), options={"g": "10"})
    limit_kept_pixels(monkeypatch, 0)
    starts = []
    original = pyav._decode_from_start
    monkeypatch.setattr(pyav, "_decode_from_start", lambda *a: starts.append(a) or original(*a))
    with PyavDecoder().open(path) as reader:
        decoded = []
        check = reader._check
        reader._check = lambda frame: (decoded.append(frame.pts), check(frame))
        part = reader.read(95, 100)
        assert len(decoded) <= 15
        assert len(starts) == 1, "where the reader was opened, which decodes nothing yet"
        assert torch.equal(part, torch.cat([reader.read(0, 120)[95:100]]))


def test_a_long_video_is_looked_through_once_for_all_its_episodes(tmp_path, monkeypatch):
    """Unless the file has changed since."""
    path = encode(tmp_path / "long.mp4", pictures(10, 48, 64))
    limit_kept_pixels(monkeypatch, 0)
    probed = []
    original = pyav.probe
    monkeypatch.setattr(pyav, "probe", lambda *a, **k: probed.append(a) or original(*a, **k))
    with PyavDecoder().open(path) as first, PyavDecoder().open(path) as second:
        assert first.info == second.info
        assert torch.equal(first.read(4, 10), second.read(4, 10))
    assert len(probed) == 1
    encode(path, pictures(9, 48, 64))
    with PyavDecoder().open(path) as changed:
        assert changed.info.num_frames == 9
    assert len(probed) == 2
