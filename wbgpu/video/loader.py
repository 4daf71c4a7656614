"""Stream aligned pairs of videos as windows of uint8 frames, decoding ahead on threads."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import torch

from wbgpu.errors import ConfigurationError, WbgpuError
from wbgpu.records.timeline import NO_TIMELINE, Stage, Timeline
from wbgpu.records.video import AlignmentPolicy, ResizeRule
from wbgpu.video.alignment import align, check_alignment_settings
from wbgpu.video.decoder import Decoder
from wbgpu.video.device_upload import DeviceUpload
from wbgpu.video.pair_reader import PairReader
from wbgpu.video.read_ahead import read_ahead
from wbgpu.video.windows import (
    Chunk,
    EpisodeClosed,
    EpisodeFailed,
    EpisodeOpened,
    EpisodeSource,
    Overlap,
    PredictionRest,
    Window,
    join_frames,
    pack,
)

LoaderItem = Window | PredictionRest | EpisodeOpened | EpisodeClosed | EpisodeFailed


class Loader(Protocol):
    """`WindowLoader`, and what else yields the same items."""

    def __iter__(self) -> Generator[LoaderItem, None, None]:
        """Begin; closing the iterator ends its threads."""
        ...


_WINDOW_BYTES_PER_VIDEO = 8 * 2**20
# A window on the CPU costs about as much as copying so many bytes, so longer chunks stay alone; on
# a GPU it costs as much as tens of frames, and they are copied anyway.
_MAX_JOINED_BYTES_ON_CPU = 2**20
_MAX_WAITING_BYTES = 32 * 2**20
_GOES_ON = (
    "Metrics that look at the prediction alone count all of its frames, their horizons do not."
)


class WindowLoader:
    """Yields windows and episode events, always in the same order for the same arguments.

    For every episode, in the order of ``sources``: :class:`EpisodeOpened`, its windows, with
    ``whole_predictions`` any :class:`PredictionRest`, then :class:`EpisodeClosed`; or
    :class:`EpisodeFailed` at the point where it fails, and the others go on. Long episodes are
    split; short ones of one size share a window, on the CPU only where their frames are no more
    than 1 MiB. Iterating again starts again. Each iteration has its own threads, which end with it.

    Memory is bounded whatever the videos' length, if it is in the decoder: 32 MiB of decoded frames
    may wait, and each worker holds one more chunk, which is a window of both videos. A pair of
    3,000 frames of 256x256 takes 120 MB more than one of 30 with ``PyavDecoder``.

    Args:
        sources: the episodes.
        decoder: opens the videos.
        num_context: leading frames of both videos that are not scored.
        policy: ``strict`` or ``safe``; see :func:`wbgpu.video.alignment.align`.
        window_frames: most frames scored in a window; by default as many as fit in 8 MiB a video
            (42 of 256x256), at least 8.
        device: where windows are put; copies to a GPU overlap with decoding and computing.
        num_workers: episodes decoded at once, each on a thread, or on two where there are fewer
            episodes than workers; by default the number of CPUs, at most 4.
        max_mismatch_ratio: ``safe`` only.
        max_mismatch_frames: ``safe`` only.
        resize: ``safe`` only.
        whole_predictions: where a prediction is longer, its other frames come after the windows.
        timeline: measures every stage up to the windows.

    Raises:
        ConfigurationError: a setting is out of range.
    """

    def __init__(
        self,
        sources: Sequence[EpisodeSource],
        *,
        decoder: Decoder,
        num_context: int,
        policy: AlignmentPolicy,
        window_frames: int | None = None,
        device: str | torch.device = "cpu",
        num_workers: int | None = None,
        max_mismatch_ratio: float = 0.25,
        max_mismatch_frames: int = 8,
        resize: ResizeRule = "bilinear",
        whole_predictions: bool = False,
        timeline: Timeline = NO_TIMELINE,
    ) -> None:
        check_alignment_settings(
            num_context=num_context,
            policy=policy,
            max_mismatch_ratio=max_mismatch_ratio,
            max_mismatch_frames=max_mismatch_frames,
        )
        for name, value in (("window_frames", window_frames), ("num_workers", num_workers)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} must be at least 1, but it is {value}.")
        self._sources = tuple(sources)
        self._decoder = decoder
        self._num_context = num_context
        self._policy: AlignmentPolicy = policy
        self._window_frames = window_frames
        self._device = torch.device(device)
        self._num_workers = num_workers or min(4, os.cpu_count() or 1)
        self._max_mismatch_ratio = max_mismatch_ratio
        self._max_mismatch_frames = max_mismatch_frames
        self._resize: ResizeRule = resize
        self._whole_predictions = whole_predictions
        self._timeline = timeline

    def __iter__(self) -> Generator[LoaderItem, None, None]:
        items = read_ahead(
            self._sources,
            self._read_episode,
            num_bytes=lambda i: i.num_bytes if isinstance(i, (Chunk, PredictionRest)) else 0,
            num_workers=self._num_workers,
            max_bytes=_MAX_WAITING_BYTES,
            timeline=self._timeline,
        )
        try:
            yield from self._pack(items)
        finally:
            items.close()

    def _read_episode(self, source: EpisodeSource) -> Iterator[_EpisodeItem]:
        has_idle_cores = len(self._sources) < self._num_workers
        try:
            with PairReader(
                source,
                self._decoder,
                self._timeline,
                resize=self._resize,
                on_two_threads=has_idle_cores,
            ) as pair:
                alignment = align(
                    pair.target.info,
                    pair.prediction.info,
                    num_context=self._num_context,
                    policy=self._policy,
                    max_mismatch_ratio=self._max_mismatch_ratio,
                    max_mismatch_frames=self._max_mismatch_frames,
                )
                first, end = alignment.num_context, alignment.num_context + alignment.num_steps
                whole = pair.prediction.info.num_frames if self._whole_predictions else end
                if whole > end:
                    alignment = replace(alignment, warnings=(*alignment.warnings, _GOES_ON))
                yield EpisodeOpened(source.episode_index, alignment)
                size = self._max_frames(pair.target.info.height, pair.target.info.width)
                context = pair.read_target(first - 1, first) if first > 0 else None
                for start in range(first, end, size):
                    target, prediction, own = pair.read(start, min(start + size, end))
                    yield Chunk(
                        episode_index=source.episode_index,
                        first_step=start - first + 1,
                        target=target,
                        prediction=prediction,
                        context=context,
                        own_prediction=own,
                        goes_on=start + size < end,
                    )
                    del target, prediction, own
                for start in range(end, whole, size):
                    rest = pair.read_prediction(start - 1, min(start + size, whole))
                    yield PredictionRest(source.episode_index, rest)
                    del rest
            yield EpisodeClosed(source.episode_index)
        except WbgpuError as error:
            yield EpisodeFailed(source.episode_index, error)

    def _pack(self, items: Iterator[_EpisodeItem]) -> Iterator[LoaderItem]:
        chunks: list[Chunk] = []
        closed: list[EpisodeClosed] = []
        overlap: Overlap | None = None
        upload = DeviceUpload(self._device) if self._device.type == "cuda" else None

        def flush() -> Iterator[LoaderItem]:
            nonlocal overlap
            if chunks:
                first, last = chunks[0], chunks[-1]
                before = overlap if first.first_step > 1 else None
                num_frames = 2 * sum(chunk.num_frames for chunk in chunks)
                num_bytes = sum(chunk.num_bytes for chunk in chunks)
                stage: Stage = "pack" if upload is None else "copy to device"
                with self._timeline.span(stage, num_frames, num_bytes):
                    overlap = Overlap.after(last) if last.goes_on else None
                    join = join_frames if upload is None else upload.join
                    window = pack(chunks, before, self._device, join)
                    if upload is not None and self._timeline.is_on:
                        upload.synchronize()
                chunks.clear()
                del first, last
                yield window
            yield from closed
            closed.clear()

        for item in items:
            if isinstance(item, Chunk):
                if chunks and not self._fits(item, chunks):
                    yield from flush()
                chunks.append(item)
            elif isinstance(item, EpisodeClosed):
                closed.append(item)
            elif isinstance(item, PredictionRest):
                yield from flush()
                yield replace(item, frames=item.frames.to(self._device))
            elif isinstance(item, EpisodeFailed):
                yield from flush()
                yield item
            else:
                yield item
        yield from flush()

    def _fits(self, chunk: Chunk, chunks: Sequence[Chunk]) -> bool:
        height, width = chunk.target.shape[2:]
        num_frames = sum(waiting.num_frames for waiting in (*chunks, chunk))
        return (
            chunks[0].own_prediction is None
            and chunk.own_prediction is None
            and chunks[0].target.shape[1:] == chunk.target.shape[1:]
            and num_frames <= self._max_frames(height, width)
            and (self._device.type != "cpu" or chunk.num_bytes <= _MAX_JOINED_BYTES_ON_CPU)
        )

    def _max_frames(self, height: int, width: int) -> int:
        most = max(8, _WINDOW_BYTES_PER_VIDEO // (3 * height * width))
        return self._window_frames or most


_EpisodeItem = Chunk | PredictionRest | EpisodeOpened | EpisodeClosed | EpisodeFailed
