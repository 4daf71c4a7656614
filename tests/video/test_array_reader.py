from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from wbgpu.errors import VideoError
from wbgpu.records.clip import Clip
from wbgpu.records.tile import Tile
from wbgpu.video.array_reader import ArrayReader
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.pyav import PyavDecoder

FRAMES = np.random.default_rng(0).integers(0, 256, (9, 6, 8, 3), np.uint8)


def saved(folder, kind, array):
    path = folder / f"a{kind}"
    if kind == ".npy":
        np.save(path, array)
    elif kind == ".npz":
        np.savez_compressed(path, array)
    else:
        save_file({"frames": torch.from_numpy(np.ascontiguousarray(array))}, path)
    return path


@pytest.mark.parametrize("is_channels_first", [False, True])
@pytest.mark.parametrize("kind", [".npy", ".npz", ".safetensors"])
def test_frames_are_the_arrays(tmp_path, kind, is_channels_first):
    array = FRAMES.transpose(0, 3, 1, 2) if is_channels_first else FRAMES
    with open_clip(Clip(saved(tmp_path, kind, array)), PyavDecoder()) as reader:
        info = reader.info
        assert (info.num_frames, info.height, info.width, info.fps) == (9, 6, 8, None)
        assert info.is_untimed
        for start, stop in ((0, 9), (3, 5), (2, 2), (8, 9)):
            frames = reader.read(start, stop)
            assert np.array_equal(frames.permute(0, 2, 3, 1).numpy(), FRAMES[start:stop])
            assert not len(frames) or frames.is_contiguous(memory_format=torch.channels_last)
        reader.read(0, 1).zero_()
        assert np.array_equal(reader.read(0, 1)[0].permute(1, 2, 0).numpy(), FRAMES[0])
        with pytest.raises(ValueError, match="frames 3 to 10"):
            reader.read(3, 10)
        reader.close()
        with pytest.raises(VideoError, match="closed"):
            reader.read(0, 1)


def test_a_part_of_an_array_is_a_clip_too(tmp_path):
    clip = Clip(saved(tmp_path, ".npy", FRAMES), frames=(2, 5), tile=Tile(1, 0, 2, 1), fps=5.0)
    with open_clip(clip, PyavDecoder()) as reader:
        assert Clip.of(reader.info) == clip
        assert np.array_equal(reader.read(0, 3).permute(0, 2, 3, 1), FRAMES[2:5, :, 4:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0)])
def test_floats_of_a_declared_range_are_rounded(tmp_path, dtype, bounds):
    low, high = bounds
    values = torch.from_numpy(FRAMES).double() / 255 * (high - low) + low
    save_file({"frames": values.to(dtype)}, tmp_path / "a.safetensors")
    reader = ArrayReader(Clip(tmp_path / "a.safetensors", float_range=bounds))
    exact = 255 * (values.to(dtype).double() - low) / (high - low)
    assert torch.equal(reader.read(0, 9).permute(0, 2, 3, 1).double(), exact.round())
    assert Clip.of(reader.info).float_range == bounds


def test_overshoot_is_cut_off_and_a_wrong_range_is_named(tmp_path):
    array = np.full((3, 6, 8, 3), 0.5, np.float32)
    array[0, 0, 0] = (1.004, -0.004, 1.0)
    array[2, 1, 1, 1] = 1.5
    reader = ArrayReader(Clip(saved(tmp_path, ".npy", array), float_range=(0.0, 1.0)))
    assert reader.read(0, 1)[0, :, 0, 0].tolist() == [255, 0, 255]
    with pytest.raises(VideoError, match=r"frame 2 holds 1\.5, outside .* 0 to 1 .*float_range"):
        reader.read(1, 3)
    array[1, 0, 0, 0] = np.nan
    reader = ArrayReader(Clip(saved(tmp_path, ".npy", array), float_range=(0.0, 1.0)))
    with pytest.raises(VideoError, match="frame 1 holds nan"):
        reader.read(0, 2)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (FRAMES.astype(np.float32), r"holds float32, .*suite\.float_range=\[0,1\]"),
        (FRAMES.astype(np.int64), r"expected uint8 frames \(0-255\), got int64"),
        (FRAMES[0], r"expected frames \[T, H, W, 3\] or \[T, 3, H, W\], got \[6, 8, 3\]"),
        (FRAMES[None], r"got \[1, 9, 6, 8, 3\]; save a file for each episode"),
        (FRAMES[..., :1], r"got \[9, 6, 8, 1\]"),
        (FRAMES[:0], r"got \[0, 6, 8, 3\]"),
        (FRAMES[:, :3], r"\[9, 3, 8, 3\] can be both"),
    ],
)
def test_an_array_that_is_no_video_is_refused(tmp_path, array, message):
    with pytest.raises(VideoError, match=rf"a\.npy: .*{message}"):
        ArrayReader(Clip(saved(tmp_path, ".npy", array)))


def test_files_of_several_arrays_and_damaged_ones_are_named(tmp_path):
    np.savez(tmp_path / "named.npz", frames=FRAMES, actions=np.zeros(3))
    with ArrayReader(Clip(tmp_path / "named.npz")) as reader:
        assert reader.info.num_frames == 9
    np.savez(tmp_path / "two.npz", x=FRAMES, y=FRAMES)
    with pytest.raises(VideoError, match=r"two\.npz: expected one array, .*'x', 'y'"):
        ArrayReader(Clip(tmp_path / "two.npz"))
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    for name in ("objects.npy", "bad.npy", "bad.npz", "bad.safetensors"):
        if name.startswith("bad"):
            (tmp_path / name).write_bytes(b"nothing of the kind")
        with pytest.raises(VideoError, match=rf"{name}: the array cannot be read"):
            ArrayReader(Clip(tmp_path / name))
    with pytest.raises(VideoError, match="does not exist"):
        ArrayReader(Clip(tmp_path / "none.npy"))


def _header(shape):
    text = io.BytesIO()
    description = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(text, description)
    return text.getvalue()


def _zip(name="frames.npy", content=b"", *, method=None, is_encrypted=False):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        file.writestr(name, content)
    data = bytearray(whole.getvalue())
    central = data.rfind(b"PK\x01\x02")
    if method is not None:
        data[8] = data[central + 10] = method
    if is_encrypted:
        data[6] |= 1
        data[central + 8] |= 1
    return bytes(data)


_NPY = _header((1, 2, 2, 3)) + bytes(12)

FOREIGN = {
    "negative length": (".npy", _header((-5, 6, 8, 3)) + bytes(99)),
    "more than the file": (".npy", _header((10**6, 1280, 1280, 3)) + bytes(99)),
    "more than there is": (".npz", _zip(content=_header((10**9, 1280, 1280, 3)))),
    "half a header": (".npy", _header((1, 2, 2, 3)).replace(b"}", b" ") + bytes(12)),
    "a zip that is called npy": (".npy", _zip(content=_NPY)),
    "an array that is called npz": (".npz", _NPY),
    "a member that is no array": (".npz", _zip("frames", b"hello")),
    "a member under a password": (".npz", _zip(content=_NPY, is_encrypted=True)),
    "a member of unknown packing": (".npz", _zip(content=_NPY, method=99)),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_whatever_is_wrong_with_a_file_costs_its_episode_alone(tmp_path, case):
    """Any other exception would end the run of a whole suite."""
    suffix, content = FOREIGN[case]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(VideoError, match=rf"a\{suffix}: the array cannot be read \("):
        ArrayReader(Clip(path))


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8"])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_bytes_in_another_order_and_fortran_arrays(tmp_path, suffix, dtype):
    """The numbers count and not how they lie in the file."""
    array = np.asfortranarray((FRAMES / 255).astype(dtype))
    with ArrayReader(Clip(saved(tmp_path, suffix, array), float_range=(0, 1))) as reader:
        assert reader.info.pixel_format == f"rgb float{8 * int(dtype[2])}"
        found = reader.read(0, len(FRAMES)).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(found, FRAMES)


def test_floats_of_more_than_64_bits_are_refused(tmp_path):
    """torch has none."""
    path = saved(tmp_path, ".npy", FRAMES.astype(np.longdouble))
    with pytest.raises(VideoError, match="expected uint8 frames"):
        ArrayReader(Clip(path, float_range=(0, 255)))
