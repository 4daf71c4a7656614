"""Frames that lie as images in a folder, read as if they were a video."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.errors import VideoError
from wbgpu.records.clip import Clip
from wbgpu.records.image_file import DAMAGE, open_image
from wbgpu.records.video import VideoInfo
from wbgpu.video.decoder import check_range
from wbgpu.video.frame_memory import empty_frames

_BACKEND = "pillow"


class ImageReader:
    """The images of a clip; a `wbgpu.video.decoder.VideoReader`.

    Gray images, palettes and transparency become RGB as in worldbench: alpha is dropped. Several
    images are decoded at once, on threads of this reader's own.

    Args:
        clip: with images. The first one says the size of all.

    Raises:
        VideoError: the first image cannot be read.
    """

    def __init__(self, clip: Clip) -> None:
        self._images = clip.images
        first = self._images[0]
        with open_image(first) as image:
            width, height = image.size
            codec, mode = (image.format or first.suffix[1:]).lower(), image.mode
        self._info = VideoInfo(
            path=str(clip.path),
            num_frames=len(self._images),
            height=height,
            width=width,
            fps=clip.fps,
            codec=codec,
            pixel_format=mode,
            color_space=None,
            color_range=None,
            rotation_degrees=0,
            is_variable_frame_rate=False,
            backend=_BACKEND,
            device="cpu",
        )
        num_threads = min(4, os.cpu_count() or 1, len(self._images))
        self._pool: ThreadPoolExecutor | None = None
        if num_threads > 1:
            self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="wbgpu-images")
        self._is_open = True

    @property
    def info(self) -> VideoInfo:
        """Of all images; ``path`` is the folder."""
        return self._info

    def read(self, start: int, stop: int) -> Tensor:
        """Frames ``start .. stop - 1``; see `VideoReader.read`."""
        check_range(self._info, start, stop)
        if not self._is_open:
            raise VideoError(self._info.path, "the reader is closed")
        frames = empty_frames(stop - start, self._info.height, self._info.width)
        self._decode(self._images[start:stop], frames)
        return torch.from_numpy(frames).permute(0, 3, 1, 2)

    def _decode(self, images: Sequence[Path], frames: npt.NDArray[np.uint8]) -> None:
        jobs = zip(images, frames, strict=True)
        if self._pool is None:
            for image, frame in jobs:
                self._decode_one(image, frame)
            return
        for done in [self._pool.submit(self._decode_one, *job) for job in jobs]:
            done.result()

    def _decode_one(self, path: Path, frame: npt.NDArray[np.uint8]) -> None:
        height, width, _ = frame.shape
        with open_image(path) as image:
            if image.size != (width, height):
                raise VideoError(
                    path,
                    f"the image is {image.size[0]}x{image.size[1]}, but {self._images[0].name} is "
                    f"{width}x{height}; all frames of an episode must have one size",
                )
            try:
                # Pillow warns of it, and it does not change the colours.
                image.info.pop("transparency", None)
                frame[:] = np.asarray(image.convert("RGB"))
            except DAMAGE as error:
                raise VideoError(path, f"the image is damaged or incomplete ({error})") from error

    def close(self) -> None:
        """End the threads."""
        self._is_open = False
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> ImageReader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
