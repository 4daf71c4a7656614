"""Decode episodes once and hand them out as windows against corrupted copies of themselves."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.corruptions import CorruptedVideo, Corruption, Rollout
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import WbgpuError
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.records.video import VideoInfo
from wbgpu.video.alignment import align
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.decoder import VideoReader
from wbgpu.video.frame_memory import empty_frames
from wbgpu.video.loader import LoaderItem
from wbgpu.video.resize import resize_frames
from wbgpu.video.windows import EpisodeClosed, EpisodeFailed, EpisodeOpened, Window

_WINDOW_BYTES_PER_VIDEO = 8 * 2**20
# Corruptions of time look back and ahead, each at a place of its own.
_MAX_KEPT_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Variant:
    """One way to corrupt every episode; without a corruption it is left as it is."""

    corruption: Corruption | None
    severity: float


class CorruptedLoader:
    """Yields what `WindowLoader` does; each variant of each episode is an episode of its own.

    Variant v of episode e has the index ``e * len(variants) + v``. Everything after decoding
    happens on ``device``. Memory is bounded whatever the videos' length: 256 MiB of decoded frames
    of each video are kept, and what has been dropped is decoded again where a corruption goes back
    to it.

    Args:
        request: decoder, context, alignment and window size.
        pairs: their predictions are corrupted.
        variants: at least one.
        seed: for whatever is drawn at random.
        device: where frames are corrupted and windows put.
    """

    def __init__(
        self,
        request: EvaluationRequest,
        pairs: Sequence[EpisodePair],
        variants: Sequence[Variant],
        *,
        seed: int = 0,
        device: torch.device | None = None,
    ) -> None:
        self._request = request
        self._pairs = tuple(pairs)
        self._variants = tuple(variants)
        self._seed = seed
        self._device = device or torch.device("cpu")

    def __iter__(self) -> Generator[LoaderItem, None, None]:
        for number, pair in enumerate(self._pairs):
            first = number * len(self._variants)
            indices = range(first, first + len(self._variants))
            try:
                yield from self._episode(pair, indices)
            except WbgpuError as error:
                for index in indices:
                    yield EpisodeFailed(index, error)

    def _episode(self, pair: EpisodePair, indices: range) -> Iterator[LoaderItem]:
        request = self._request
        with (
            open_clip(pair.ground_truth, request.decoder) as target_reader,
            open_clip(pair.prediction, request.decoder) as prediction_reader,
        ):
            info, num_context = target_reader.info, request.num_context
            alignment = align(
                info,
                prediction_reader.info,
                num_context=num_context,
                policy=request.alignment,
                max_mismatch_ratio=request.max_mismatch_ratio,
                max_mismatch_frames=request.max_mismatch_frames,
            )
            for index in indices:
                yield EpisodeOpened(index, alignment)
            num_frames = num_context + alignment.num_steps
            size = request.window_frames or max(
                8, _WINDOW_BYTES_PER_VIDEO // (3 * info.height * info.width)
            )
            targets = self._kept(target_reader, info, num_frames, size)
            predictions = (
                targets
                if pair.prediction == pair.ground_truth
                else self._kept(prediction_reader, info, num_frames, size)
            )
            rollout = Rollout.of(num_frames, num_context, self._seed, pair.episode_id)
            reference = predictions.gather(np.array([rollout.num_untouched - 1]))
            context = targets.gather(np.array([num_context - 1])) if num_context else None
            videos = [
                CorruptedVideo(v.corruption, v.severity, rollout, predictions.gather, reference)
                for v in self._variants
            ]
            for start in range(num_context, num_frames, size):
                stop = min(start + size, num_frames)
                # One frame more, for frame differences.
                before = max(start - 1, num_context)
                target = targets.gather(np.arange(before, stop))
                for index, video in zip(indices, videos, strict=True):
                    prediction = video.read(before, stop)
                    yield _window(target, prediction, context, index, before, start, num_context)
                _give_back_memory()
        for index in indices:
            yield EpisodeClosed(index)

    def _kept(
        self, reader: VideoReader, target: VideoInfo, num_frames: int, block_frames: int
    ) -> _KeptFrames:
        """A reader's frames in the target's size."""

        def read(start: int, stop: int) -> Tensor:
            frames = reader.read(start, stop)
            if frames.shape[2:] != (target.height, target.width):
                # Always on the CPU, as where nothing is corrupted.
                frames = resize_frames(frames.cpu(), height=target.height, width=target.width)
            return frames.to(self._device)

        frame_bytes = 3 * target.height * target.width
        max_blocks = max(2, _MAX_KEPT_BYTES // (block_frames * frame_bytes))
        return _KeptFrames(read, num_frames, block_frames, max_blocks)


class _KeptFrames:
    """A video's frames in any order, decoded a block at a time; the latest blocks are kept."""

    def __init__(
        self,
        read: Callable[[int, int], Tensor],
        num_frames: int,
        block_frames: int,
        max_blocks: int,
    ) -> None:
        self._read = read
        self._num_frames = num_frames
        self._block_frames = block_frames
        self._max_blocks = max_blocks
        self._blocks: OrderedDict[int, Tensor] = OrderedDict()

    def gather(self, index: npt.NDArray[np.int64]) -> Tensor:
        """Frames by index, uint8 ``[n, 3, H, W]``, NHWC in memory."""
        numbers = index // self._block_frames
        gathered: Tensor | None = None
        for number in np.unique(numbers).tolist():
            here = np.flatnonzero(numbers == number)
            block = self._block(number)
            if gathered is None:
                _, channels, height, width = block.shape
                if block.device.type == "cpu":
                    memory = torch.from_numpy(empty_frames(len(index), height, width))
                else:
                    memory = block.new_empty((len(index), height, width, channels))
                gathered = memory.permute(0, 3, 1, 2)
            for places, rows in _runs(here, index[here] - number * self._block_frames):
                gathered[places] = block[rows]
        assert gathered is not None, "no frames were asked for"
        return gathered

    def _block(self, number: int) -> Tensor:
        if number in self._blocks:
            self._blocks.move_to_end(number)
            return self._blocks[number]
        start = number * self._block_frames
        block = self._read(start, min(start + self._block_frames, self._num_frames))
        self._blocks[number] = block
        if len(self._blocks) > self._max_blocks:
            self._blocks.popitem(last=False)
        return block


def _give_back_memory() -> None:
    """Have malloc give pages that it does not use back to the system, where it can (glibc).

    Megabytes that corruptions take and free come to lie between small statistics that stay until
    the episode ends, and would grow to 3 GB after 2,000 frames of 256x256.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _runs(
    places: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> Iterator[tuple[slice, slice]]:
    """Places and rows in runs that rise together, for one copy each."""
    cuts = np.flatnonzero((np.diff(places) != 1) | (np.diff(rows) != 1)) + 1
    for start, stop in pairwise([0, *cuts.tolist(), len(places)]):
        place, row, length = int(places[start]), int(rows[start]), stop - start
        yield slice(place, place + length), slice(row, row + length)


def _window(
    target: Tensor,
    prediction: Tensor,
    context: Tensor | None,
    episode_index: int,
    before: int,
    start: int,
    num_context: int,
) -> Window:
    """A window of one chunk, whose first frame is not scored where ``before`` is not ``start``."""
    num_before = start - before
    num_rows = len(target) - num_before
    row = np.arange(num_rows) + num_before
    step = row + (before - num_context + 1)
    device = target.device
    return Window(
        target=target,
        prediction=prediction,
        row=torch.from_numpy(row).to(device),
        previous_row=torch.from_numpy(np.where(step > 1, row - 1, -1)).to(device),
        context=context,
        context_row=torch.full((num_rows,), -1 if context is None else 0, device=device),
        episode_index=np.full(num_rows, episode_index),
        step=step,
    )
