"""Ranges of RGB frames from a stream of NV12 frames, on the device where those are."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import TracebackType

import av
import torch
from torch import Tensor

from wbgpu.errors import VideoError
from wbgpu.records.video import VideoInfo
from wbgpu.video.decoder import check_range
from wbgpu.video.stream import ADVICE
from wbgpu.video.yuv import YuvToRgb, nv12_to_rgb

# Frames converted at once; their planes are copied first, so the stream is never far ahead.
_BATCH = 16

Nv12Frames = Generator[tuple[Tensor, Tensor], None, None]


class Nv12Reader:
    """One open video; see :class:`wbgpu.video.decoder.VideoReader`.

    On CUDA the work is queued on the device's default stream, and reading returns before it is
    done. Use the frames on that stream, or make another one wait for it.

    Args:
        info: the video; ``info.device`` is where its frames come.
        coefficients: of its colours.
        decode: starts from the first frame: luma ``[H, W]`` and chroma ``[H / 2, W / 2, 2]`` of
            each presented frame, before rotation, in order.
    """

    def __init__(
        self, info: VideoInfo, coefficients: YuvToRgb, decode: Callable[[], Nv12Frames]
    ) -> None:
        self._info = info
        self._coefficients = coefficients
        self._decode = decode
        self._frames = decode()
        self._peeked: tuple[Tensor, Tensor] | None = None
        self._position = 0
        self._is_closed = False
        is_sideways = info.rotation_degrees in (90, 270)
        height, width = (info.width, info.height) if is_sideways else (info.height, info.width)
        with _default_stream(info.device):
            self._luma = torch.empty(
                (min(_BATCH, info.num_frames), height, width), dtype=torch.uint8, device=info.device
            )
            self._chroma = torch.empty(
                (len(self._luma), height // 2, width // 2, 2), dtype=torch.uint8, device=info.device
            )

    @property
    def info(self) -> VideoInfo:
        """What the file holds."""
        return self._info

    def peek(self) -> tuple[Tensor, Tensor] | None:
        """The first frame's planes, before anything is read; raises what ``decode`` raises."""
        with _default_stream(self._info.device):
            self._peeked = next(self._frames, None)
        return self._peeked

    def read(self, start: int, stop: int) -> Tensor:
        """Frames ``start .. stop - 1`` as uint8 RGB ``[stop - start, 3, H, W]``, channels last.

        Raises:
            ValueError: the range is not within ``0 .. num_frames``.
            VideoError: a frame cannot be decoded, there are more or fewer than ``num_frames``, or
                the reader is closed.
        """
        info = self._info
        check_range(info, start, stop)
        if self._is_closed:
            raise VideoError(info.path, "the reader is closed. Open the video again.")
        with _default_stream(info.device):
            frames = torch.empty(
                (stop - start, info.height, info.width, 3), dtype=torch.uint8, device=info.device
            )
            if start < stop:
                self._go_to(start)
            for first in range(0, len(frames), _BATCH):
                self._convert_into(frames[first : first + _BATCH])
            if self._position == info.num_frames:
                self._expect_end()
        return frames.permute(0, 3, 1, 2)

    def close(self) -> None:
        """Free the decoder."""
        self._is_closed = True
        self._peeked = None
        self._frames.close()

    def __enter__(self) -> Nv12Reader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _convert_into(self, frames: Tensor) -> None:
        luma, chroma = self._luma[: len(frames)], self._chroma[: len(frames)]
        for index in range(len(frames)):
            next_luma, next_chroma = self._next()
            luma[index].copy_(next_luma)
            chroma[index].copy_(next_chroma)
        rgb = _converter(luma.device)(luma, chroma, self._coefficients)
        frames.copy_(torch.rot90(rgb, -self._info.rotation_degrees // 90, (1, 2)))

    def _next(self) -> tuple[Tensor, Tensor]:
        planes = self._take()
        if planes is None:
            raise self._undecodable("no frame came")
        if planes[0].shape != self._luma.shape[1:] or planes[1].shape != self._chroma.shape[1:]:
            height, width = planes[0].shape
            raise self._undecodable(f"its picture is {width}x{height}")
        self._position += 1
        return planes

    def _take(self) -> tuple[Tensor, Tensor] | None:
        if self._peeked is not None:
            planes, self._peeked = self._peeked, None
            return planes
        try:
            return next(self._frames, None)
        except (av.FFmpegError, OSError, RuntimeError) as error:
            raise self._undecodable(str(error)) from error

    def _go_to(self, start: int) -> None:
        if start < self._position:
            self._frames.close()
            self._peeked = None
            self._frames = self._decode()
            self._position = 0
        while self._position < start:
            self._next()

    def _expect_end(self) -> None:
        if self._take() is not None:
            raise VideoError(
                self._info.path,
                f"it has more than the {self._info.num_frames} frames that were counted. {ADVICE}",
            )

    def _undecodable(self, detail: str) -> VideoError:
        info = self._info
        return VideoError(
            info.path,
            f"unreadable at frame {self._position} of {info.num_frames} on {info.device}: "
            f"{detail}. {ADVICE}",
        )


def _converter(device: torch.device) -> Callable[[Tensor, Tensor, YuvToRgb], Tensor]:
    if device.type != "cuda":
        return nv12_to_rgb
    try:
        from wbgpu.video.yuv_triton import nv12_to_rgb_triton  # noqa: PLC0415 (only on a GPU)
    except ImportError:  # PyTorch has no Triton on Windows; the bits are the same
        return nv12_to_rgb
    return nv12_to_rgb_triton


@contextmanager
def _default_stream(device: str) -> Iterator[None]:
    if torch.device(device).type != "cuda":
        yield
        return
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.default_stream(device)):
        yield
