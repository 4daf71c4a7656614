"""The integer colour conversion has the bits of the CPU decoders."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.video.tagged_files import SPACES, encode_tagged, nv12_frames
from wbgpu.video.decord import DecordDecoder
from wbgpu.video.probe import probe
from wbgpu.video.pyav import PyavDecoder
from wbgpu.video.yuv import nv12_to_rgb, yuv_to_rgb_coefficients

COVERED = ("bt709", None, "bt470bg", "smpte170m")
SUFFIXES = (".mp4", ".mkv", ".webm", ".avi", ".mov")


def _differing_frames(path, decoder, every=1):
    with decoder.open(path) as reader:
        info = reader.info
        frames = reader.read(0, info.num_frames).permute(0, 2, 3, 1)
    coefficients = yuv_to_rgb_coefficients(info.color_space, info.color_range)
    assert coefficients is not None, f"{path}: {info.color_space} {info.color_range}"
    different = []
    for index, (luma, chroma) in enumerate(nv12_frames(path)):
        if index % every:
            continue
        rgb = nv12_to_rgb(luma[None], chroma[None], coefficients)
        if not torch.equal(torch.rot90(rgb[0], -info.rotation_degrees // 90), frames[index]):
            different.append(index)
    return different


def test_every_file_at_hand(shared):
    """One level off at one value would make the GPU's score differ from the CPU's."""
    different, num_files = {}, 0
    files = [*(shared / "data").rglob("*"), *(shared / "golden").rglob("*")]
    for path in sorted(path for path in files if path.suffix in SUFFIXES):
        info = probe(path, verify=False)
        if info.pixel_format not in ("yuv420p", "yuvj420p") or info.height % 2:
            continue
        num_files += 1
        decoders = [PyavDecoder()]
        if path.parent.name in ("decode", "decode_corpus"):
            decoders.append(DecordDecoder(verify=False))
        for decoder in decoders:
            if found := _differing_frames(path, decoder, every=7):
                different[decoder.name, path.name] = found
    assert num_files > 130
    assert different == {}


@pytest.mark.parametrize("codec", ["libx264", "libvpx-vp9"])
@pytest.mark.parametrize("color_range", [None, "limited", "full"])
@pytest.mark.parametrize("space", COVERED)
def test_tags(tmp_path, space, color_range, codec):
    """Coefficients by the formula are those that FFmpeg has in its tables."""
    name = "tagged.mp4" if codec == "libx264" else "tagged.webm"
    path = encode_tagged(tmp_path / name, space, color_range, codec=codec)
    with PyavDecoder().open(path) as reader:
        assert reader.info.color_space == space
        assert (reader.info.color_range == "full") == (color_range == "full")
    assert _differing_frames(path, PyavDecoder()) == []
    assert _differing_frames(path, DecordDecoder()) == []


def test_odd_width(tmp_path):
    """The last column has a chroma sample of its own."""
    path = encode_tagged(tmp_path / "odd.webm", "bt709", None, codec="libvpx-vp9", width=61)
    assert _differing_frames(path, PyavDecoder()) == []


def test_tags_that_are_not_covered():
    """A guess would be wrong by many levels and nobody would see it."""
    for space in {*SPACES, "ycgco", "rgb"} - set(COVERED):
        assert yuv_to_rgb_coefficients(space, "limited") is None


@pytest.mark.parametrize(("space", "color_range"), [("bt709", "full"), (None, "limited")])
def test_all_values(space, color_range):
    """Every triple of Y, U and V: no overflow, and shifts that round down, not towards zero."""
    c = yuv_to_rgb_coefficients(space, color_range)
    levels = range(256)
    y = np.array([(level - c.offset) * 8 * c.luma // 65536 for level in levels])
    terms = {
        name: np.array([(level - 128) * 8 * getattr(c, name) // 65536 for level in levels])
        for name in ("red_v", "green_u", "green_v", "blue_u")
    }
    u, v = (grid.ravel() for grid in np.meshgrid(levels, levels))
    chroma = torch.from_numpy(np.stack((u, v), -1).astype(np.uint8)).view(-1, 1, 1, 2)
    for level in levels:
        luma = torch.full((len(u), 1, 1), level, dtype=torch.uint8)
        rgb = nv12_to_rgb(luma, chroma, c).view(-1, 3).numpy()
        expected = (
            y[level] + terms["red_v"][v],
            y[level] + terms["green_u"][u] + terms["green_v"][v],
            y[level] + terms["blue_u"][u],
        )
        assert np.array_equal(rgb, np.clip(np.stack(expected, -1), 0, 255)), level


def test_pixels_share_chroma_in_twos():
    """By a loop over pixels, for odd sizes too."""
    c = yuv_to_rgb_coefficients("bt709", "full")
    generator = torch.Generator().manual_seed(0)
    luma = torch.randint(0, 256, (2, 5, 7), generator=generator, dtype=torch.uint8)
    chroma = torch.randint(0, 256, (2, 3, 4, 2), generator=generator, dtype=torch.uint8)
    rgb = nv12_to_rgb(luma, chroma, c)
    assert rgb.is_contiguous()
    for n, row, column in np.ndindex(2, 5, 7):
        pair = chroma[n, row // 2, column // 2]
        alone = nv12_to_rgb(luma[n, row, column].view(1, 1, 1), pair.view(1, 1, 1, 2), c)
        assert torch.equal(rgb[n, row, column], alone.flatten())
