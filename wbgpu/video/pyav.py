"""Frames by PyAV: one decode both finds damage and gives the frames.

FFmpeg's own conversion to RGB, as decord uses it, so the same bytes. A short video's decoded frames
are kept from the check that every file goes through anyway, and converted to RGB when they are
read: 23 ms of one core for a pair of 20-frame 256x256 H.264 videos, where decord and its check take
45 ms. A longer video is checked while it is read, where its packets tell how many frames there are
(H.264, HEVC, VP9 and AV1 in mp4 or Matroska), so that damage is reported where it is met; what lies
behind the last frame that is asked for is not decoded. Other long videos are decoded twice, first
to count and check, then for their frames.

Episodes may share a long video (LeRobot v3.0). What was found out about it is remembered, and its
frames are read from the last keyframe before them, if that gives the frame that is expected there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import dropwhile
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
from wbgpu.video.probe import MAX_KEPT_PIXELS, probe
from wbgpu.video.stream import ADVICE, open_video_stream

_MOST_FRAMES_PASSED_OVER = 32
"""Decoded on the way to a later frame, rather than seek."""


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
        return open_on_cpu(path, backend=self.name, num_threads=self.num_threads)


def open_on_cpu(
    path: str | Path, *, backend: str, num_threads: int = 1, fallback_reason: str | None = None
) -> PyavReader:
    """What `PyavDecoder.open` does, for decoders of other names that fall back to it.

    Raises:
        VideoError: missing, empty, not a video, damaged or incomplete.
    """
    found, decoded = _LONG_VIDEOS.find(path), None
    if found is None:
        kept, times = KeptFrames(), _Times()
        info = probe(
            path, verify="later", num_threads=num_threads, on_frame=kept.add, on_times=times.take
        )
        decoded = kept.all if kept.all is not None and len(kept.all) == info.num_frames else None
        found = LongVideo(info, times.ticks)
        if decoded is None:
            _LONG_VIDEOS.add(path, found)
    info = replace(found.info, path=str(path), backend=backend, fallback_reason=fallback_reason)
    return PyavReader(info, num_threads, decoded, found.ticks)


@dataclass(frozen=True)
class LongVideo:
    """What was found out about a video whose frames are not kept.

    Attributes:
        info: as `probe` describes it.
        ticks: int64 ``[frames]``, when each is presented, or none where the file does not say.
    """

    info: VideoInfo
    ticks: npt.NDArray[np.int64]


class _LongVideos:
    """The last few of them, by file, as long as it is the same."""

    def __init__(self, max_videos: int = 16) -> None:
        self._max_videos = max_videos
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int, int], LongVideo] = OrderedDict()

    def find(self, path: str | Path) -> LongVideo | None:
        key = self._key(path)
        with self._lock:
            return None if key is None else self._known.get(key)

    def add(self, path: str | Path, video: LongVideo) -> None:
        if (key := self._key(path)) is None:
            return
        with self._lock:
            self._known[key] = video
            if len(self._known) > self._max_videos:
                self._known.popitem(last=False)

    @staticmethod
    def _key(path: str | Path) -> tuple[str, int, int] | None:
        try:
            status = Path(path).stat()
        except OSError:
            return None
        return str(Path(path).absolute()), status.st_size, status.st_mtime_ns


_LONG_VIDEOS = _LongVideos()


class _Times:
    def __init__(self) -> None:
        self.ticks: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def take(self, ticks: Sequence[int]) -> None:
        self.ticks = np.asarray(ticks, np.int64)


class KeptFrames:
    """The decoded frames of a video, if it is short, and always the first.

    Attributes:
        first: ``None`` before there is one.
        all: ``None`` once there were too many.
    """

    def __init__(self) -> None:
        self.first: VideoFrame | None = None
        self.all: list[VideoFrame] | None = []

    def add(self, frame: VideoFrame) -> None:
        """Take the next frame."""
        self.first = self.first or frame
        if self.all is not None:
            self.all.append(frame)
            if len(self.all) * frame.width * frame.height > MAX_KEPT_PIXELS:
                self.all = None


class PyavReader:
    """One open video; see :class:`wbgpu.video.decoder.VideoReader`.

    Args:
        info: what :func:`wbgpu.video.probe.probe` found.
        num_threads: FFmpeg threads; 0 lets FFmpeg choose.
        decoded: all frames, if they were kept; otherwise they are decoded from the file.
        ticks: see `LongVideo`.
    """

    def __init__(
        self,
        info: VideoInfo,
        num_threads: int,
        decoded: list[VideoFrame] | None,
        ticks: npt.NDArray[np.int64],
    ) -> None:
        self._info = info
        self._num_threads = num_threads
        self._decoded = decoded
        # Seeking goes by time, so every frame needs its own.
        self._ticks = ticks if (np.diff(ticks) > 0).all() else ticks[:0]
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
        if not 0 <= start - self._position <= _MOST_FRAMES_PASSED_OVER:
            self._jump(start)
        while self._position < stop:
            frame = self._next()
            if frame is None:
                raise self._undecodable("no frame came")
            self._check(frame)
            self._position += 1
            if self._position > start:
                yield frame
        if self._position == self._info.num_frames and self._next() is not None:
            raise self._undecodable("there are more frames than packets")

    def _jump(self, start: int) -> None:
        """Go on from the last keyframe at or before a frame, or else from the first frame."""
        self._stream.close()
        path, self._position = self._info.path, 0
        if len(self._ticks) and start > 0:
            frames = _decode_from_keyframe(path, self._num_threads, int(self._ticks[start]))
            with suppress(av.FFmpegError, StopIteration):
                keyframe = next(frames)
                ticks = -1 if keyframe.pts is None else keyframe.pts
                place = int(np.searchsorted(self._ticks, ticks))
                if place <= start and self._ticks[place] == ticks:
                    self._stream, self._position = _led_by(keyframe, frames), place
                    return
            frames.close()
        self._stream = _decode_from_start(path, self._num_threads)

    def _next(self) -> VideoFrame | None:
        try:
            return next(self._stream, None)
        except av.FFmpegError as error:
            raise self._undecodable(error.strerror) from error

    def _check(self, frame: VideoFrame) -> None:
        # Only here is a long video decoded, see `probe`.
        if frame.is_corrupt:
            raise self._undecodable("damaged; a decoder would invent the missing pixels")
        size = self._info.height, self._info.width
        if self._info.rotation_degrees in (90, 270):
            size = size[::-1]
        if (frame.height, frame.width) != size:
            raise self._undecodable(
                f"its size changes to {frame.width}x{frame.height}; all frames must have one size"
            )

    def _rgb(self, frame: VideoFrame) -> npt.NDArray[np.uint8]:
        try:
            if self._converter is None:
                self._converter = _to_rgb24(frame)
            self._converter.vpush(frame)
            converted = self._converter.vpull()
        except av.FFmpegError as error:
            raise VideoError(
                self._info.path,
                f"its colours ({frame.format.name}, {self._info.color_space or 'untagged'}) cannot "
                f"be converted to RGB: {error.strerror}. Re-encode it with BT.709 colours.",
            ) from error
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


def _decode_from_keyframe(
    path: str, num_threads: int, ticks: int
) -> Generator[VideoFrame, None, None]:
    """From the last keyframe at or before a time, without what is shown before it."""
    container, stream = open_video_stream(Path(path), num_threads)
    with container:
        container.seek(ticks, stream=stream)
        # Pictures shown before a keyframe may depend on others that come before it.
        yield from dropwhile(lambda frame: not frame.key_frame, container.decode(stream))


def _led_by(
    first: VideoFrame, others: Generator[VideoFrame, None, None]
) -> Generator[VideoFrame, None, None]:
    with closing(others):
        yield first
        yield from others


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
