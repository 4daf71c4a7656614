"""Files are described as they are, and damage that decoders conceal is an error."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from PIL import Image

from tests.video.awkward_files import (
    cut,
    encode,
    patch,
    pictures,
    with_display_matrix,
    with_edit,
    with_one_more_frame_announced,
    with_zeroed_bytes,
)
from wbgpu.errors import VideoError
from wbgpu.video.probe import probe

UNEVEN = [0, 3000, 6000, 30000, 33000]
TICK = Fraction(1, 90000)


@pytest.mark.parametrize("name", ["uneven.mp4", "uneven.mkv"])
def test_variable_frame_rate(tmp_path, name):
    """Five coded frames stay five (worldbench expands them to twelve) and are marked as uneven."""
    path = encode(tmp_path / name, pictures(5, 48, 64), pts=UNEVEN, time_base=TICK, rate=30)
    info = probe(path)
    assert info.num_frames == 5
    assert info.is_variable_frame_rate


def test_milliseconds_are_not_variable(tmp_path):
    """Matroska rounds 1/30 s to 33 and 34 ms; calling that variable would cry wolf."""
    path = encode(tmp_path / "even.mkv", pictures(30, 48, 64), rate=30)
    ticks = []
    info = probe(path, on_frame=lambda frame: ticks.append(frame.pts))
    assert {b - a for a, b in pairwise(ticks)} == {33, 34}
    assert not info.is_variable_frame_rate


def test_ntsc_rate(tmp_path):
    """30000/1001 must not be rounded to 30."""
    frames = pictures(7, 48, 64)
    path = encode(tmp_path / "ntsc.mp4", frames, rate=Fraction(30000, 1001))
    assert probe(path).fps == pytest.approx(30000 / 1001, rel=1e-12)


def test_description_of_tagged_files(shared):
    """Colour tags, codec and pixel format come from the file, not from defaults."""
    folder = shared / "golden" / "decode"

    def described(name):
        info = probe(folder / name)
        return info.codec, info.pixel_format, info.color_space, info.color_range

    assert described("h264_420_bt709.mp4") == ("h264", "yuv420p", "bt709", "limited")
    assert described("h264_420_untagged.mp4")[2:] == (None, None)
    assert described("h264_420_fullrange.mp4")[3] == "full"
    assert described("h264_420_10bit.mp4")[1] == "yuv420p10le"
    assert described("vp9.webm")[0] == "vp9"
    av1 = probe(shared / "data" / "decode_corpus" / "av1_video.mkv")
    assert av1.codec == "av1"  # the codec, not the library that decodes it


def test_counting_without_verifying_agrees_on_whole_files(shared):
    """Otherwise verify=False would score other frames."""
    corpus = shared / "data" / "decode_corpus"
    for path in sorted(corpus.iterdir()):
        if path.suffix != ".json":
            assert probe(path, verify=False) == probe(path), path.name


def test_frames_trimmed_by_an_edit_list_are_not_missing(tmp_path):
    """An mp4 trimmed by its edit list still counts all samples in its header; it is whole."""
    source = encode(tmp_path / "whole.mp4", pictures(30, 48, 96))
    path = with_edit(source, tmp_path / "trimmed.mp4", seconds=1.5, skipped_ticks=0)
    assert probe(path).num_frames == 15


def test_uneven_avi_is_whole(tmp_path):
    """Its header counts the empty chunks between frames; they are not missing frames."""
    path = encode(
        tmp_path / "uneven.avi",
        pictures(5, 48, 64),
        codec="mpeg4",
        pts=[0, 1, 2, 10, 11],
        time_base=Fraction(1, 30),
        rate=30,
    )
    assert probe(path).num_frames == 5


def _whole(tmp_path, name="whole.mp4", num_frames=30, **options):
    return encode(tmp_path / name, pictures(num_frames, 48, 64), **options)


def _fast_start(tmp_path):
    return _whole(tmp_path, container_options={"movflags": "faststart"})


def _two_sizes(tmp_path, name):
    first = encode(tmp_path / "1.h264", pictures(3, 48, 64), container_format="h264")
    second = encode(tmp_path / "2.h264", pictures(3, 64, 96), container_format="h264")
    path = tmp_path / name
    path.write_bytes(first.read_bytes() + second.read_bytes())
    return path


def _picture(path):
    Image.new("RGB", (64, 48), (200, 10, 10)).save(path, format="JPEG")
    return path


def _text(path, content):
    path.write_text(content)
    return path


BAD_FILES = {
    "missing": (lambda t: t / "bad.mp4", "does not exist"),
    "folder": (lambda t: (t / "bad.mp4").mkdir() or t / "bad.mp4", "folder"),
    "empty": (lambda t: _text(t / "bad.mp4", ""), r"unreadable.*empty \(0 bytes\)"),
    "text": (lambda t: _text(t / "bad.mp4", "hello\n" * 100), "unreadable.*not a video"),
    "half, no moov": (lambda t: cut(_whole(t), t / "bad.mp4", 0.5), "unreadable.*interrupted"),
    "jpeg": (lambda t: _picture(t / "bad.mp4"), r"unreadable.*still picture \(mjpeg\)"),
    "zeroed": (lambda t: with_zeroed_bytes(_whole(t), t / "bad.mp4"), r"damaged.*first at \d"),
    "fast start cut": (lambda t: cut(_fast_start(t), t / "bad.mp4", 0.7), "damaged or cut short"),
    "mkv cut": (
        lambda t: cut(_whole(t, "whole.mkv"), t / "bad.mkv", 0.7),
        r"incomplete.*announces 3\.000 s.*end",
    ),
    "webm cut": (
        lambda t: cut(_whole(t, "whole.webm", codec="libvpx"), t / "bad.webm", 0.7),
        "incomplete.*announces",
    ),
    "avi announces one more": (
        lambda t: with_one_more_frame_announced(
            _whole(t, "whole.avi", codec="mpeg4"), t / "bad.avi"
        ),
        r"incomplete.*announces 3\.100 s.*30 frames",
    ),
    "two sizes": (lambda t: _two_sizes(t, "bad.h264"), "64x48 to 96x64"),
    "mirrored": (
        lambda t: with_display_matrix(_whole(t), t / "bad.mp4", -1, 0, 0, 1),
        "mirrors",
    ),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files(tmp_path, capfd, kind):
    """Each would be scored as if whole, or fail with a decoder's banner that helps nobody."""
    make, message = BAD_FILES[kind]
    path = make(tmp_path)
    capfd.readouterr()
    with pytest.raises(VideoError, match=message) as caught:
        probe(path)
    assert caught.value.path == path
    assert str(path) in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("position", [20_000, 60_000, 120_000])
def test_concealed_pixels_of_a_robot_video(shared, tmp_path, position):
    """No packet fails here; only the decoder's mark on the frame tells that it was invented."""
    source = shared / "data" / "bridge_suite" / "gt" / "000000000.mp4"
    path = patch(source, tmp_path / "bad.mp4", position, bytes(400))
    with pytest.raises(VideoError, match=r"damaged.*in 1 place\(s\), the first at \d"):
        probe(path)


def test_packets_marked_corrupt(tmp_path):
    """One lost packet of a transport stream: every frame decodes; only the demuxer sees the gap."""
    source = _whole(tmp_path, "whole.ts")
    path = patch(source, tmp_path / "bad.ts", 24 * 188, bytes(188))
    with pytest.raises(VideoError, match="damaged"):
        probe(path)


@pytest.mark.parametrize("kind", ["zeroed", "fast start cut", "mkv cut"])
def test_damage_is_found_by_several_threads_too(tmp_path, kind):
    """Frame threads report an error one call later; it must not be lost."""
    make, _ = BAD_FILES[kind]
    path = make(tmp_path)
    with pytest.raises(VideoError):
        probe(path, num_threads=2)


def test_an_index_longer_than_the_file(tmp_path):
    """A fast-start mp4 cut exactly between two packets has no broken packet; its index tells."""
    import av

    source = _fast_start(tmp_path)
    with av.open(str(source)) as container:
        position = [packet.pos for packet in container.demux(video=0) if packet.size][20]
    path = tmp_path / "bad.mp4"
    path.write_bytes(source.read_bytes()[:position])
    with pytest.raises(VideoError, match=r"index lists 30 frames, only 20|damaged or cut short"):
        probe(path)


def test_every_frame_is_handed_to_the_caller(tmp_path):
    """PyavDecoder keeps them; one missing would shift all that follow."""
    seen = []
    probe(_whole(tmp_path, num_frames=12), on_frame=seen.append)
    assert [frame.pts for frame in seen] == [1024 * index for index in range(12)]


def test_codec_that_ffmpeg_does_not_know(tmp_path):
    """A damaged sample description names no codec; the error must still name the file."""
    whole = _whole(tmp_path)
    position = whole.read_bytes().index(b"avc1", whole.read_bytes().index(b"stsd"))
    path = patch(whole, tmp_path / "unknown.mp4", position, b"zzzz")
    with pytest.raises(VideoError, match=r"unknown\.mp4: unreadable"):
        probe(path)
