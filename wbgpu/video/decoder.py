"""What a decoder must do. :mod:`wbgpu.video.check_decoder` proves that one does it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Protocol

from torch import Tensor

from wbgpu.records.video import VideoInfo


class VideoReader(Protocol):
    """One open video. Not thread-safe; use one reader per thread.

    Reading onwards streams: memory does not grow with the video's length. Reading backwards works,
    and may decode from the start again.
    """

    @property
    def info(self) -> VideoInfo:
        """What the file holds and who decodes it."""
        ...

    def read(self, start: int, stop: int) -> Tensor:
        """Presented frames ``start .. stop - 1``.

        Returns:
            uint8 RGB ``[stop - start, 3, H, W]``, 0..255, on ``info.device``. The memory is
            NHWC-contiguous, so the tensor is a ``channels_last`` view; it belongs to the caller.

        Raises:
            ValueError: unless ``0 <= start <= stop <= info.num_frames``.
            VideoError: the frames cannot be decoded, or the reader is closed.
        """
        ...

    def close(self) -> None:
        """Free the decoder. Closing twice is fine."""
        ...

    def __enter__(self) -> VideoReader: ...

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Decoder(Protocol):
    """Opens videos. One decoder may open videos on several threads at once."""

    @property
    def name(self) -> str:
        """The backend's name, as results record it."""
        ...

    def open(self, path: str | Path) -> VideoReader:
        """Open a video and check what can be checked before its first frame is handed out.

        Raises:
            VideoError: the file is missing, empty, not a video, damaged or incomplete. The message
                names the file, the cause and what to do.
        """
        ...


def check_range(info: VideoInfo, start: int, stop: int) -> None:
    """What every reader checks first.

    Raises:
        ValueError: unless ``0 <= start <= stop <= info.num_frames``.
    """
    if not 0 <= start <= stop <= info.num_frames:
        raise ValueError(
            f"{info.path}: frames {start} to {stop} were asked for, but it has {info.num_frames} "
            "frame(s), counted from 0."
        )
