"""Frames by PyAV: one decode both finds damage and gives the frames.

FFmpeg's own conversion to RGB, as decord uses it, so the same bytes. A short video's decoded frames
are kept from the check that every file goes through anyway, and converted to RGB when they are
read: 23 ms of one core for a pair of 20-frame 256x256 H.264 videos, where decord and its check take
45 ms. A longer video is decoded once for the check and once more for its frames, streaming.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import av
import numpy as np
import numpy.typing as npt
import torch
from av.filter import Graph
from av.video.frame import VideoFrame
from torch import Tensor

from wbgpu.errors import ConfigurationError, VideoError
from wbgpu.records.video import VideoInfo
from wbgpu.video.decoder import check_range
from wbgpu.video.frame_memory import empty_frames
from wbgpu.video.probe import probe
from wbgpu.video.stream import ADVICE, open_video_stream

_MAX_KEPT_PIXELS = 8 * 2**20


class PyavDecoder:
    """Decodes on the CPU with PyAV; damage is always looked for.

    Args:
        num_threads: FFmpeg threads per open video; 0 lets FFmpeg choose. One is fastest when
            several videos are decoded at once, as :class:`wbgpu.video.loader.WindowLoader` does.

    Raises:
        ConfigurationError: ``num_threads`` is negative.
    """

    def __init__(self, *, num_threads: int = 1) -> None:
        if num_threads < 0:
            raise ConfigurationError(f"num_threads must be 0 or more, but it is {num_threads}.")
        self.num_threads = num_threads

    @property
    def name(self) -> str:
        """``pyav``."""
        return "pyav"

    def open(self, path: str | Path) -> PyavReader:
        """Check a video and open it.

        Raises:
            VideoError: missing, empty, not a video, damaged or incomplete.
        """
        kept = _Kept()
        info = probe(path, num_threads=self.num_threads, on_frame=kept.add)
        return PyavReader(
            replace(info, backend=self.name),
            self.num_threads,
            kept.frames if kept.is_complete else None,
        )


class _Kept:
    """The first frames of a video; complete if the video is short."""

    def __init__(self) -> None:
        self.frames: list[VideoFrame] = []
        self.is_complete = True

    def add(self, frame: VideoFrame) -> None:
        if not self.is_complete:
            return
        self.frames.append(frame)
        if len(self.frames) * frame.width * frame.height > _MAX_KEPT_PIXELS:
            self.is_complete = False
            self.frames.clear()


class PyavReader:
    """One open video; see :class:`wbgpu.video.decoder.VideoReader`."""

    def __init__(self, info: VideoInfo, num_threads: int, decoded: list[VideoFrame] | None) -> None:
        self._info = info
        self._num_threads = num_threads
        self._decoded = decoded
        self._converter: Graph | None = None
        self._stream = _decode_from_start(info.path, num_threads)
        self._position = 0
        self._is_closed = False

    @property
    def info(self) -> VideoInfo:
        """What the file holds."""
        return self._info

    def read(self, start: int, stop: int) -> Tensor:
        """Frames ``start .. stop - 1`` as uint8 RGB ``[stop - start, 3, H, W]``, channels last.

        Raises:
            ValueError: the range is not within ``0 .. num_frames``.
            VideoError: a frame cannot be decoded, or the reader is closed.
        """
        info = self._info
        check_range(info, start, stop)
        if self._is_closed:
            raise VideoError(info.path, "the reader is closed. Open the video again.")
        frames = empty_frames(stop - start, info.height, info.width)
        for result, frame in zip(frames, self._decode(start, stop), strict=True):
            np.copyto(result, self._rgb(frame))
        return torch.from_numpy(frames).permute(0, 3, 1, 2)

    def close(self) -> None:
        """Free the decoder and the frames."""
        self._is_closed = True
        self._decoded = None
        self._stream.close()

    def __enter__(self) -> PyavReader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _decode(self, start: int, stop: int) -> Iterator[VideoFrame]:
        if self._decoded is not None:
            yield from self._decoded[start:stop]
            return
        if start < self._position:
            self._stream.close()
            self._stream = _decode_from_start(self._info.path, self._num_threads)
            self._position = 0
        while self._position < stop:
            try:
                frame = next(self._stream, None)
            except av.FFmpegError as error:
                raise self._undecodable(error.strerror) from error
            if frame is None:
                raise self._undecodable("no frame came")
            self._position += 1
            if self._position > start:
                yield frame

    def _rgb(self, frame: VideoFrame) -> npt.NDArray[np.uint8]:
        if self._converter is None:
            self._converter = _to_rgb24(frame)
        self._converter.vpush(frame)
        converted = self._converter.vpull()
        plane = converted.planes[0]
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(frame.height, plane.line_size)
        picture = rows[:, : 3 * frame.width].reshape(frame.height, frame.width, 3)
        return np.rot90(picture, -self._info.rotation_degrees // 90)

    def _undecodable(self, detail: str | None) -> VideoError:
        return VideoError(
            self._info.path,
            f"unreadable at frame {self._position} of {self._info.num_frames}: {detail}. {ADVICE}",
        )


def _decode_from_start(path: str, num_threads: int) -> Generator[VideoFrame, None, None]:
    container, stream = open_video_stream(Path(path), num_threads)
    with container:
        yield from container.decode(stream)


def _to_rgb24(frame: VideoFrame) -> Graph:
    """FFmpeg's scale filter; ``VideoFrame.reformat`` ignores where chroma samples lie (10 bit)."""
    graph = Graph()
    if hasattr(graph, "threads"):  # PyAV 18
        graph.threads = 1
    source = graph.add_buffer(
        width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base
    )
    graph.link_nodes(source, graph.add("format", "pix_fmts=rgb24"), graph.add("buffersink"))
    graph.configure()
    return graph
