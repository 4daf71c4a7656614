"""Conformance suite for decoders: ``check_decoder(YourDecoder(), folder)`` in a test of yours."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from wbgpu.errors import VideoError
from wbgpu.video.decoder import Decoder
from wbgpu.video.encode import write_video

_NUM_FRAMES = 9
_HEIGHT_WIDTHS = ((18, 34), (48, 64), (17, 13), (32, 96))
_FPS = 12.5


def check_decoder(decoder: Decoder, folder: Path) -> None:
    """Check everything that :class:`wbgpu.video.decoder.Decoder` promises.

    Args:
        decoder: the backend.
        folder: an empty folder for the small videos that this writes.

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    assert decoder.name, "a decoder must have a name"
    for height, width in _HEIGHT_WIDTHS:
        path = folder / f"{width}x{height}.mp4"
        frames = _frames(height, width)
        write_video(path, frames, _FPS, lossless=True)
        _check_info(decoder, path, height, width)
        _check_frames(decoder, path, frames)
        _check_ranges(decoder, path, frames)
    path, frames = folder / "64x48.mp4", _frames(48, 64)
    _check_ownership(decoder, path, frames)
    _check_threads(decoder, path, frames)
    _check_closing(decoder, path)
    _check_bad_files(decoder, path, folder)


def _frames(height: int, width: int) -> Tensor:
    generator = torch.Generator("cpu").manual_seed(height * 1000 + width)
    shape = (_NUM_FRAMES, 3, height, width)
    return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8, device="cpu")


def _check_info(decoder: Decoder, path: Path, height: int, width: int) -> None:
    with decoder.open(path) as reader:
        info = reader.info
    found = (info.num_frames, info.height, info.width)
    expected = (_NUM_FRAMES, height, width)
    assert found == expected, f"info says {found} frames, height, width; the file has {expected}"
    assert info.path == str(path), f"info.path is {info.path!r}, but {str(path)!r} was opened"
    assert info.fps is not None, "info.fps is None, but the file says 12.5"
    assert abs(info.fps - _FPS) < 1e-9, f"info.fps is {info.fps}; the file says {_FPS}"
    assert info.codec == "h264", f"info.codec is {info.codec!r}, not 'h264'"
    assert info.backend == decoder.name, f"info.backend is {info.backend!r}, not {decoder.name!r}"
    assert not info.is_variable_frame_rate, "evenly spaced frames are called variable"


def _check_frames(decoder: Decoder, path: Path, frames: Tensor) -> None:
    with decoder.open(path) as reader:
        read = reader.read(0, _NUM_FRAMES)
        assert str(read.device) == reader.info.device, "frames are not on info.device"
    assert read.dtype == torch.uint8, f"frames are {read.dtype}, not uint8"
    assert read.shape == frames.shape, f"shape {tuple(read.shape)}, not {tuple(frames.shape)}"
    assert read.permute(0, 2, 3, 1).is_contiguous(), "frames are not NHWC-contiguous in memory"
    difference = (read.cpu().int() - frames.int()).abs().max().item()
    assert difference == 0, f"{path.name}: lossless frames differ by up to {difference} levels"


def _check_ranges(decoder: Decoder, path: Path, frames: Tensor) -> None:
    with decoder.open(path) as reader:
        for start, stop in ((0, 2), (2, 3), (5, 9), (8, 9), (1, 4), (0, 1), (4, 4), (9, 9)):
            read = reader.read(start, stop).cpu()
            assert torch.equal(read, frames[start:stop]), (
                f"read({start}, {stop}) gives other frames than reading all"
            )
        for start, stop in ((-1, 2), (3, 2), (0, 10)):
            _expect(
                ValueError,
                partial(reader.read, start, stop),
                f"read({start}, {stop})",
            )


def _check_ownership(decoder: Decoder, path: Path, frames: Tensor) -> None:
    with decoder.open(path) as reader:
        first = reader.read(0, 2)
        reader.read(2, 9)
        assert torch.equal(first.cpu(), frames[:2]), "a later read changes frames read before"
        first.zero_()
        assert torch.equal(reader.read(0, 2).cpu(), frames[:2]), (
            "writing to frames changes the next"
        )


def _check_threads(decoder: Decoder, path: Path, frames: Tensor) -> None:
    def read(_: int) -> Tensor:
        with decoder.open(path) as reader:
            return reader.read(0, _NUM_FRAMES).cpu()

    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(read, range(8)):
            assert torch.equal(result, frames), "readers on several threads disturb each other"


def _check_closing(decoder: Decoder, path: Path) -> None:
    reader = decoder.open(path)
    reader.close()
    reader.close()
    _expect(VideoError, partial(reader.read, 0, 1), "reading from a closed reader")


def _check_bad_files(decoder: Decoder, whole: Path, folder: Path) -> None:
    content = whole.read_bytes()
    contents = {
        "empty.mp4": b"",
        "text.mp4": b"this is not a video\n" * 100,
        "half.mp4": content[: len(content) // 2],
    }
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    (folder / "folder.mp4").mkdir()
    for name in (*contents, "folder.mp4", "missing.mp4"):
        path = folder / name
        error = _expect(VideoError, partial(decoder.open, path), f"opening {name}")
        assert str(path) in str(error), f"the error does not name the file: {error}"


def _expect(kind: type[Exception], action: Callable[[], object], what: str) -> Exception:
    try:
        action()
    except kind as error:
        return error
    except Exception as error:
        raise AssertionError(f"{what} raises {error!r}, not {kind.__name__}") from error
    raise AssertionError(f"{what} raises nothing; {kind.__name__} was expected")
