"""Frames saved as an array, read as if they were a video."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from wbgpu.errors import VideoError
from wbgpu.records.array_file import FRAMES_NAME, frames_name
from wbgpu.records.clip import Clip
from wbgpu.records.video import VideoInfo
from wbgpu.video.decoder import check_range
from wbgpu.video.frame_memory import empty_frames

_NUM_CHANNELS = 3
# What NumPy and its zip reader raise on damaged and on foreign files; a claim of more memory than
# there is is damage as well.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    struct.error,
    SafetensorError,
)
_FLOATS = ("float16", "bfloat16", "float32", "float64")
# Networks overshoot a little; beyond that the declared range is wrong.
_OVERSHOOT = 0.01


class ArrayReader:
    """The frames of a .npy, .npz or .safetensors file; a `wbgpu.video.decoder.VideoReader`.

    ``[T, H, W, 3]`` or ``[T, 3, H, W]``, uint8 RGB; in a file of several arrays the one that is
    called ``frames``. Floats (float16, bfloat16, float32, float64) become uint8 where the clip says
    their range: ``round(255 * (x - low) / (high - low))``. A .npy and a .safetensors file are read
    piece by piece; a .npz file is in memory as a whole.

    Args:
        clip: a file.

    Raises:
        VideoError: the file is missing, damaged, or holds no such array.
    """

    def __init__(self, clip: Clip) -> None:
        self._path = clip.path
        self._float_range = clip.float_range
        self._slice, shape, dtype, backend = _opened(clip.path)
        self._channels_first = _channels_first(clip.path, shape)
        if dtype != "uint8":
            _check_floats(clip, dtype)
        height, width = shape[2:] if self._channels_first else shape[1:3]
        self._is_open = True
        self._info = VideoInfo(
            path=str(clip.path),
            num_frames=shape[0],
            height=height,
            width=width,
            fps=clip.fps,
            codec="array",
            pixel_format=f"rgb {dtype}",
            color_space=None,
            color_range=None,
            rotation_degrees=0,
            is_variable_frame_rate=False,
            backend=backend,
            device="cpu",
            float_range=None if dtype == "uint8" else clip.float_range,
        )

    @property
    def info(self) -> VideoInfo:
        """Of the array; its codec is ``array``."""
        return self._info

    def read(self, start: int, stop: int) -> Tensor:
        """Frames ``start .. stop - 1``; see `VideoReader.read`."""
        check_range(self._info, start, stop)
        if not self._is_open:
            raise VideoError(self._path, "the reader is closed")
        found = self._slice(start, stop)
        if found.dtype != torch.uint8:
            found = self._levels(found, start)
        frames = empty_frames(stop - start, self._info.height, self._info.width)
        ordered = found.permute(0, 2, 3, 1) if self._channels_first else found
        torch.from_numpy(frames).copy_(ordered)
        return torch.from_numpy(frames).permute(0, 3, 1, 2)

    def close(self) -> None:
        """Let go of the file."""
        self._is_open = False
        self._slice = _closed

    def __enter__(self) -> ArrayReader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _levels(self, values: Tensor, start: int) -> Tensor:
        assert self._float_range is not None
        low, high = self._float_range
        # Exact for what float32 holds, so that 127.5 / 255 is rounded as it is meant.
        shares = (values.double() - low) / (high - low)
        # Written so that NaN is wrong as well.
        wrong = ~((shares >= -_OVERSHOOT) & (shares <= 1 + _OVERSHOOT))
        if bool(wrong.any()):
            place = wrong.nonzero()[0].tolist()
            raise VideoError(
                self._path,
                f"frame {start + place[0]} holds {values[tuple(place)].item():g}, outside the "
                f"declared range {low:g} to {high:g} (suite.float_range); declare the range that "
                "the values really have, or clamp them when they are saved",
            )
        return (255 * shares).round().clamp(0, 255).to(torch.uint8)


_Slice = Callable[[int, int], Tensor]


def _opened(path: Path) -> tuple[_Slice, Sequence[int], str, str]:
    """A function that reads frames, the array's shape and type, and who reads it."""
    try:
        if path.suffix.lower() == ".safetensors":
            return _safetensors(path)
        return _numpy(path)
    except FileNotFoundError:
        raise VideoError(path, "the file does not exist") from None
    except _DAMAGE as error:
        raise VideoError(path, f"the array cannot be read ({error})") from error


def _numpy(path: Path) -> tuple[_Slice, Sequence[int], str, str]:
    if path.suffix.lower() == ".npy":
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    else:
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            is_zip = isinstance(arrays, np.lib.npyio.NpzFile)
            array = arrays[_chosen(path, arrays.files)] if is_zip else None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"it is no {path.suffix} file, whatever its name says")
    # Torch wants the bytes of a number in the order of this machine.
    dtype = array.dtype.newbyteorder("=")

    def read(start: int, stop: int) -> Tensor:
        # A copy: torch does not take arrays that it cannot write to.
        part: npt.NDArray[Any] = np.array(array[start:stop], dtype)
        return torch.from_numpy(part)

    return read, array.shape, str(dtype), "numpy"


def _safetensors(path: Path) -> tuple[_Slice, Sequence[int], str, str]:
    # Untyped in some versions.
    file: Any = safe_open(path, framework="pt")
    part = file.get_slice(_chosen(path, list(file.keys())))
    names = {
        "U8": "uint8",
        "F16": "float16",
        "BF16": "bfloat16",
        "F32": "float32",
        "F64": "float64",
    }
    dtype = names.get(part.get_dtype(), part.get_dtype())

    def read(start: int, stop: int) -> Tensor:
        frames: Tensor = part[start:stop]
        return frames

    return read, part.get_shape(), dtype, "safetensors"


def _closed(start: int, stop: int) -> Tensor:
    raise AssertionError(f"frames {start} to {stop} of a closed reader")


def _chosen(path: Path, names: Sequence[str]) -> str:
    name = frames_name(names)
    if name is None:
        raise VideoError(
            path,
            f"expected one array, or one that is called {FRAMES_NAME!r}, got "
            f"{', '.join(map(repr, names)) or 'none'}",
        )
    return name


def _channels_first(path: Path, shape: Sequence[int]) -> bool:
    """Whether the array is ``[T, 3, H, W]`` and not ``[T, H, W, 3]``."""
    expected = "expected frames [T, H, W, 3] or [T, 3, H, W]"
    if len(shape) == 5:
        raise VideoError(
            path, f"{expected}, got {[*shape]}; save a file for each episode of the batch"
        )
    first, last = (len(shape) == 4 and shape[axis] == _NUM_CHANNELS for axis in (1, 3))
    if not (first or last) or 0 in shape:
        raise VideoError(path, f"{expected}, got {[*shape]}")
    if first and last:
        raise VideoError(
            path, f"{expected}; {[*shape]} can be both, so nothing says which axis has the colours"
        )
    return first


def _check_floats(clip: Clip, dtype: str) -> None:
    if dtype not in _FLOATS:
        raise VideoError(
            clip.path, f"expected uint8 frames (0-255), got {dtype}; save them as uint8"
        )
    if clip.float_range is None:
        raise VideoError(
            clip.path,
            f"holds {dtype}, and nothing says which values are black and white; say them "
            "(suite.float_range=[0,1] or [-1,1]), or save uint8: "
            "(255 * frames).round().clip(0, 255) of frames in 0 to 1",
        )
