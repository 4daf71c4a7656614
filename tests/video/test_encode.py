"""Videos that we write ourselves: exact where promised, whole or absent, always the same bytes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from tests.video.awkward_files import decode, pictures
from wbgpu.errors import ConfigurationError
from wbgpu.video.encode import write_video
from wbgpu.video.probe import probe


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.avi"])
@pytest.mark.parametrize(("height", "width"), [(48, 64), (13, 17)])
def test_lossless_keeps_every_pixel(tmp_path, name, height, width):
    """Tests that write frames and expect them back would measure the encoder instead."""
    frames = np.random.default_rng(0).integers(0, 256, (5, height, width, 3), dtype=np.uint8)
    write_video(tmp_path / name, frames, 12.5, lossless=True)
    np.testing.assert_array_equal(decode(tmp_path / name), frames)
    assert probe(tmp_path / name).fps == 12.5


@pytest.mark.parametrize(
    ("height", "width", "pixel_format"),
    [(48, 64, "yuv420p"), (13, 17, "yuv444p"), (48, 17, "yuv444p"), (13, 64, "yuv444p")],
)
def test_lossy_is_close(tmp_path, height, width, pixel_format):
    """Odd sizes must not be padded to even ones, and brightness must survive."""
    frames = pictures(8, height, width)[..., :1].repeat(3, axis=-1)  # 4:2:0 would blur colours
    write_video(tmp_path / "a.mp4", frames, Fraction(30000, 1001), crf=5)
    info = probe(tmp_path / "a.mp4")
    assert (info.height, info.width, info.pixel_format) == (height, width, pixel_format)
    assert info.fps == pytest.approx(30000 / 1001)
    assert np.abs(decode(tmp_path / "a.mp4").astype(int) - frames).mean() < 2


def test_layouts_and_tensors_are_equal(tmp_path):
    """[T, 3, H, W] read as [T, H, W, 3] would be noise; and the same frames give the same bytes."""
    frames = pictures(4, 48, 64)
    tensor = torch.from_numpy(frames)
    for name, given in (
        ("array", frames),
        ("tensor", tensor),
        ("channels_first", tensor.permute(0, 3, 1, 2)),
        ("contiguous", tensor.permute(0, 3, 1, 2).contiguous()),
    ):
        write_video(tmp_path / f"{name}.mp4", given, 5)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_failure_leaves_the_old_file(tmp_path):
    """A half-written video would be taken for a whole one by the next run."""
    path = tmp_path / "new folder" / "a.mp4"
    write_video(path, pictures(3, 48, 64), 5)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError):
        write_video(path, pictures(3, 48, 64), 0)
    with pytest.raises(Exception, match=r".+"):
        write_video(path, np.zeros((1, 1, 20_000, 3), np.uint8), 5)  # x264's limit is 16384
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["a.mp4"]


@pytest.mark.parametrize(
    ("frames", "arguments", "error", "message"),
    [
        (np.zeros((2, 8, 8, 3), np.float32), {}, TypeError, "uint8.*float32"),
        (np.zeros((2, 8, 8), np.uint8), {}, ConfigurationError, r"\(2, 8, 8\)"),
        (np.zeros((0, 8, 8, 3), np.uint8), {}, ConfigurationError, "at least one frame"),
        (np.zeros((2, 8, 8, 4), np.uint8), {}, ConfigurationError, r"\(2, 8, 8, 4\)"),
        (np.zeros((2, 8, 8, 3), np.uint8), {"fps": -1}, ConfigurationError, "fps.*-1"),
        (np.zeros((2, 8, 8, 3), np.uint8), {"fps": float("nan")}, ConfigurationError, "fps.*nan"),
        (np.zeros((2, 8, 8, 3), np.uint8), {"fps": float("inf")}, ConfigurationError, "fps.*inf"),
        (np.zeros((2, 8, 8, 3), np.uint8), {"crf": 52}, ConfigurationError, "crf.*52"),
    ],
)
def test_bad_arguments(tmp_path, frames, arguments, error, message):
    """float frames in [0, 1] written as black, say."""
    with pytest.raises(error, match=message):
        write_video(tmp_path / "a.mp4", frames, **{"fps": 5, **arguments})
    assert not list(tmp_path.iterdir())


def test_unknown_kind_of_file(tmp_path):
    """webm cannot hold H.264."""
    with pytest.raises(ConfigurationError, match=r"\.webm"):
        write_video(tmp_path / "a.webm", pictures(2, 48, 64), 5)
