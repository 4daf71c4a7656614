from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from wbgpu.errors import VideoError
from wbgpu.records.image_folder import image_clip
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.pyav import PyavDecoder


def _save(folder, arrays, suffix=".png", **options):
    folder.mkdir(exist_ok=True)
    for index, array in enumerate(arrays):
        Image.fromarray(array).save(folder / f"{index:03d}{suffix}", **options)


def _open(folder):
    return open_clip(image_clip(folder, fps=7.0), PyavDecoder())


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
def test_frames_are_those_that_pillow_decodes(tmp_path, suffix):
    """Frames of other images, or in another order, would be scored without a word."""
    frames = np.random.default_rng(0).integers(0, 256, (11, 13, 17, 3)).astype(np.uint8)
    _save(tmp_path, frames, suffix)
    with _open(tmp_path) as reader:
        assert (reader.info.num_frames, reader.info.resolution) == (11, "17x13")
        assert reader.info.fps == 7.0
        whole = reader.read(0, 11)
        assert torch.equal(reader.read(4, 9), whole[4:9])
        assert len(reader.read(3, 3)) == 0
    assert whole.is_contiguous(memory_format=torch.channels_last)
    for index, frame in enumerate(whole.permute(0, 2, 3, 1).numpy()):
        expected = Image.open(tmp_path / f"{index:03d}{suffix}").convert("RGB")
        np.testing.assert_array_equal(frame, np.asarray(expected))


def test_gray_palette_and_alpha_become_rgb(tmp_path):
    """As worldbench: alpha is dropped and not laid over a colour."""
    rgb = np.random.default_rng(1).integers(0, 256, (8, 9, 3)).astype(np.uint8)
    image = Image.fromarray(rgb)
    alpha = image.copy()
    alpha.putalpha(7)
    made = [image, image.convert("L"), alpha, image.convert("P"), image.convert("1")]
    for index, one in enumerate(made):
        one.save(tmp_path / f"{index}.png")
    with _open(tmp_path) as reader:
        frames = reader.read(0, len(made)).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(frames[0], rgb)
    np.testing.assert_array_equal(frames[2], rgb)
    for frame, one in zip(frames, made):
        np.testing.assert_array_equal(frame, np.asarray(one.convert("RGB")))


def test_one_image_of_another_size_is_named(tmp_path):
    """worldbench resizes it without a word."""
    frames = np.zeros((4, 8, 9, 3), np.uint8)
    _save(tmp_path, frames)
    Image.fromarray(frames[0, :6]).save(tmp_path / "002.png")
    with _open(tmp_path) as reader, pytest.raises(VideoError, match=r"002\.png: .*9x6.*9x8"):
        reader.read(0, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "not an image"), (b"text", "not an image"), (None, "damaged or incomplete")],
)
def test_broken_images_are_named(tmp_path, content, message):
    """An empty or cut file must not be a black frame."""
    rng = np.random.default_rng(2)
    _save(tmp_path, rng.integers(0, 256, (3, 40, 40, 3)).astype(np.uint8))
    broken = tmp_path / "001.png"
    broken.write_bytes(broken.read_bytes()[:900] if content is None else content)
    with _open(tmp_path) as reader, pytest.raises(VideoError, match=rf"001\.png: .*{message}"):
        reader.read(0, 3)


def test_more_than_8_bits_are_refused(tmp_path):
    """Pillow cuts off at 255: a dark picture would become a white one."""
    Image.fromarray(np.full((8, 8), 3000, np.uint16)).save(tmp_path / "0.png")
    with pytest.raises(VideoError, match="more than 8 bits"):
        _open(tmp_path)


def test_16_bit_colours_are_refused(tmp_path):
    """Pillow calls them RGB and drops the lower bits, so nobody would notice."""
    (tmp_path / "0.png").write_bytes(png_of_16_bits(np.full((4, 5, 3), 300, ">u2")))
    with pytest.raises(VideoError, match=r"0\.png: .*more than 8 bits"):
        _open(tmp_path)


def png_of_16_bits(pixels):
    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_a_palette_of_several_transparencies_keeps_its_colours(tmp_path):
    """Pillow warns of it, which ends a program that takes warnings for errors."""
    palette = Image.new("P", (3, 2))
    palette.putpalette([10, 20, 30, 200, 100, 50])
    palette.putpixel((1, 1), 1)
    palette.save(tmp_path / "0.png", transparency=bytes([0, 128]))
    with _open(tmp_path) as reader:
        frame = reader.read(0, 1)[0].permute(1, 2, 0)
    assert frame[0, 0].tolist() == [10, 20, 30]
    assert frame[1, 1].tolist() == [200, 100, 50]


def test_animations_are_refused(tmp_path):
    """Only its first picture would be seen."""
    frames = [Image.new("RGB", (8, 8), (value, 0, 0)) for value in (0, 200)]
    frames[0].save(tmp_path / "0.webp", save_all=True, append_images=frames[1:])
    with pytest.raises(VideoError, match="animation"):
        _open(tmp_path)


def test_a_closed_reader_and_wrong_ranges_are_refused(tmp_path):
    """As every other reader."""
    _save(tmp_path, np.zeros((2, 8, 8, 3), np.uint8))
    reader = _open(tmp_path)
    with pytest.raises(ValueError, match="frames 0 to 3"):
        reader.read(0, 3)
    reader.close()
    reader.close()
    with pytest.raises(VideoError, match="closed"):
        reader.read(0, 1)
