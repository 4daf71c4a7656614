"""Write frames as a video with PyAV; no ffmpeg program is needed."""

from __future__ import annotations

import os
import uuid
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from torch import Tensor

from wbgpu.errors import ConfigurationError


def write_video(
    path: str | Path,
    frames: Tensor | npt.NDArray[np.uint8],
    fps: float | Fraction,
    *,
    lossless: bool = False,
    crf: int = 18,
) -> None:
    """Write H.264; the same frames give the same bytes with the same PyAV.

    The file appears whole or not at all: it is written beside ``path`` and then renamed; missing
    folders are made. Colours are BT.601, limited range and untagged, which is what readers take
    untagged video to be.

    Args:
        path: ``.mp4``, ``.mov``, ``.mkv`` or ``.avi``; an existing file is replaced.
        frames: uint8 RGB, 0..255, ``[T, 3, H, W]`` or ``[T, H, W, 3]``, T at least 1.
        fps: frames per second, positive.
        lossless: keep every pixel (H.264 in RGB). Otherwise yuv420p, or yuv444p where a side is
            odd.
        crf: quality of the lossy kind, 0 (best) to 51.

    Raises:
        TypeError: frames are not uint8.
        ConfigurationError: no such shape, rate, quality or kind of file.
    """
    path = Path(path)
    pictures = _as_height_width_rgb(frames)
    _, height, width, _ = pictures.shape
    if not 0 < fps < float("inf"):
        raise ConfigurationError(f"fps must be a positive number, but it is {fps}.")
    if not 0 <= crf <= 51:
        raise ConfigurationError(f"crf must be 0 to 51, but it is {crf}.")
    if path.suffix.lower() not in (".mp4", ".mov", ".mkv", ".avi"):
        raise ConfigurationError(
            f"{path}: videos are written as .mp4, .mov, .mkv or .avi, not as {path.suffix!r}."
        )
    # One thread: x264's rate control and its settings, which it writes into the file, depend on it.
    options = {"preset": "medium", "threads": "1"}
    if lossless:
        codec, pixel_format = "libx264rgb", "rgb24"
        options["qp"] = "0"
    else:
        codec = "libx264"
        pixel_format = "yuv420p" if height % 2 == 0 and width % 2 == 0 else "yuv444p"
        options["crf"] = str(crf)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}{path.suffix.lower()}")
    try:
        with av.open(str(temporary), "w") as container:
            rate = Fraction(fps).limit_denominator(100_000)
            stream = container.add_stream(codec, rate=rate, options=options)
            stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
            for picture in pictures:
                frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _as_height_width_rgb(frames: Tensor | npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    array: npt.NDArray[np.uint8] = np.asarray(
        frames.cpu() if isinstance(frames, Tensor) else frames
    )
    if array.dtype != np.uint8:
        raise TypeError(f"frames must be uint8, 0 to 255, but they are {array.dtype}.")
    if array.ndim == 4 and array.size > 0:
        if array.shape[1] == 3:
            return np.moveaxis(array, 1, 3)
        if array.shape[3] == 3:
            return array
    raise ConfigurationError(
        "frames must be [T, 3, H, W] or [T, H, W, 3] with at least one frame, but their shape is "
        f"{tuple(array.shape)}."
    )
