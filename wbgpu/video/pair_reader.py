"""Both videos of an episode, read side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import ParamSpec, TypeVar

from torch import Tensor

from wbgpu.records.clip import Clip
from wbgpu.records.timeline import Timeline
from wbgpu.records.video import ResizeRule
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.decoder import Decoder, VideoReader
from wbgpu.video.resize import resize_frames
from wbgpu.video.windows import EpisodeSource

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class PairReader:
    """Target and prediction of one episode, open.

    Args:
        source: where they lie.
        decoder: opens them.
        timeline: measures opening, decoding and resizing.
        resize: what becomes of predictions of another size.
        on_two_threads: the prediction gets a thread of its own, for when there are more cores than
            episodes.

    Raises:
        VideoError: a video cannot be opened; the target's error if neither can.
    """

    def __init__(
        self,
        source: EpisodeSource,
        decoder: Decoder,
        timeline: Timeline,
        *,
        resize: ResizeRule = "bilinear",
        on_two_threads: bool,
    ) -> None:
        self._decoder = decoder
        self._resize = resize
        self._timeline = timeline
        self._readers: list[VideoReader] = []
        self._side = (
            ThreadPoolExecutor(1, thread_name_prefix="wbgpu-decode-side")
            if on_two_threads
            else None
        )
        try:
            prediction = self._beside(self._open, source.prediction)
            self.target = self._open(source.target)
            self.prediction = prediction()
        except BaseException:
            self.close()
            raise

    def read(self, start: int, stop: int) -> tuple[Tensor, Tensor, Tensor | None]:
        """Frames ``start .. stop - 1`` of target and prediction, in the target's size.

        Returns:
            uint8 ``[stop - start, 3, H, W]`` each; see :meth:`VideoReader.read`. Then the
            prediction in its own size, where that is another and ``resize`` keeps it.

        Raises:
            VideoError: frames cannot be decoded; the target's error if neither's can.
        """
        prediction = self._beside(self._read_prediction, start, stop)
        target = self._read(self.target, start, stop)
        return target, *prediction()

    def read_target(self, start: int, stop: int) -> Tensor:
        """Frames of the target alone."""
        return self._read(self.target, start, stop)

    def read_prediction(self, start: int, stop: int) -> Tensor:
        """Frames of the prediction alone, in its own size where ``resize`` keeps that."""
        resized, own = self._read_prediction(start, stop)
        return resized if own is None else own

    def close(self) -> None:
        """Wait for the thread and close both videos."""
        if self._side is not None:
            self._side.shutdown()
        for reader in self._readers:
            reader.close()

    def __enter__(self) -> PairReader:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _beside(
        self,
        function: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Callable[[], Result]:
        """The call on the other thread, already running; without one, the call itself."""
        if self._side is None:
            return partial(function, *args, **kwargs)
        return self._side.submit(function, *args, **kwargs).result

    def _open(self, clip: Clip) -> VideoReader:
        with self._timeline.span("open and check") as opening:
            reader = open_clip(clip, self._decoder)
            opening.num_frames = reader.info.num_frames
        self._readers.append(reader)
        return reader

    def _read(self, reader: VideoReader, start: int, stop: int) -> Tensor:
        info = reader.info
        num_frames = stop - start
        num_bytes = num_frames * 3 * info.height * info.width
        with self._timeline.span("decode", num_frames, num_bytes):
            return reader.read(start, stop)

    def _read_prediction(self, start: int, stop: int) -> tuple[Tensor, Tensor | None]:
        frames = self._read(self.prediction, start, stop)
        height, width = self.target.info.height, self.target.info.width
        if frames.shape[2:] == (height, width):
            return frames, None
        with self._timeline.span("resize", len(frames), frames.numel()):
            # Always on the CPU, where Pillow is.
            frames = frames.cpu()
            resized = resize_frames(frames, height=height, width=width, rule=self._resize)
        return resized, frames if self._resize == "bicubic" else None
