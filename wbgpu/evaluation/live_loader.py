"""Decode ground truth on threads, predict on this one, and hand out both as windows."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wbgpu.episodes.actions import read_actions
from wbgpu.errors import InputError, WbgpuError
from wbgpu.evaluation.exact_arithmetic import exact_arithmetic
from wbgpu.evaluation.live_prediction import LiveEpisode, predict
from wbgpu.evaluation.token_losses import TensorLogits, logits_log_loss
from wbgpu.models import Prediction, Tokens, WorldModel
from wbgpu.records.clip import Clip
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.timeline import NO_TIMELINE, Timeline
from wbgpu.records.video import Alignment, AlignmentPolicy, ResizeRule, VideoInfo
from wbgpu.video.alignment import align, check_alignment_settings
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.decoder import Decoder
from wbgpu.video.device_upload import DeviceUpload
from wbgpu.video.loader import LoaderItem
from wbgpu.video.read_ahead import read_ahead
from wbgpu.video.resize import resize_frames
from wbgpu.video.windows import (
    Chunk,
    EpisodeClosed,
    EpisodeFailed,
    EpisodeOpened,
    Overlap,
    join_frames,
    pack,
)

_WINDOW_BYTES_PER_VIDEO = 8 * 2**20
_MAX_WAITING_BYTES = 64 * 2**20


@dataclasses.dataclass(frozen=True)
class LiveSource:
    """One episode for a model.

    Attributes:
        episode_index: the number by which the loader's items name it.
        episode_id: seeds what the model draws.
        target: the ground truth.
        prediction: what stands for the frames that are not there.
        actions: its actions ``[N, A]``, or the file that they are saved in, or ``None``.
    """

    episode_index: int
    episode_id: str
    target: Clip
    prediction: Clip
    actions: Path | npt.NDArray[np.float32] | None


class LiveLoader:
    """Yields what `WindowLoader` does, with a model's predictions instead of a second video.

    The model is called by whoever iterates, on that thread, while threads decode ahead. The ground
    truth of an episode is in memory as a whole, and so is its prediction.

    Attributes:
        token_losses: by episode index, for models with logits; there before the episode is closed.

    Args:
        sources: the episodes.
        model: predicts; on ``device``.
        decoder: opens the ground truth.
        num_context: leading frames, which the model is given.
        policy: ``strict`` or ``safe``; see :func:`wbgpu.video.alignment.align`.
        batch_size: see `LiveModel`.
        seed: likewise.
        window_frames: most frames scored at once; by default as many as fit in 8 MiB a video, at
            least 8.
        device: where windows are put.
        num_workers: decoding threads; by default the number of CPUs, at most 4.
        statistics_path: of log-losses.
        max_mismatch_ratio: ``safe`` only.
        max_mismatch_frames: ``safe`` only.
        resize: ``safe`` only.
        save: is given each prediction: the episode and the frames ``[T, 3, H, W]``.
        timeline: measures every stage up to the windows.
    """

    def __init__(
        self,
        sources: Sequence[LiveSource],
        model: WorldModel,
        *,
        decoder: Decoder,
        num_context: int,
        policy: AlignmentPolicy,
        batch_size: int = 1,
        seed: int = 0,
        window_frames: int | None = None,
        device: torch.device | None = None,
        num_workers: int | None = None,
        statistics_path: str = "auto",
        max_mismatch_ratio: float = 0.25,
        max_mismatch_frames: int = 8,
        resize: ResizeRule = "bilinear",
        save: Callable[[LiveEpisode, Tensor], None] | None = None,
        timeline: Timeline = NO_TIMELINE,
    ) -> None:
        check_alignment_settings(
            num_context=num_context,
            policy=policy,
            max_mismatch_ratio=max_mismatch_ratio,
            max_mismatch_frames=max_mismatch_frames,
        )
        self._sources = {source.episode_index: source for source in sources}
        self._model = model
        self._decoder = decoder
        self._num_context = num_context
        self._policy: AlignmentPolicy = policy
        self._batch_size = batch_size
        self._seed = seed
        self._window_frames = window_frames
        self._device = device or torch.device("cpu")
        self._num_workers = num_workers or min(4, os.cpu_count() or 1)
        self._statistics_path = statistics_path
        self._max_mismatch_ratio = max_mismatch_ratio
        self._max_mismatch_frames = max_mismatch_frames
        self._resize: ResizeRule = resize
        self._save = save
        self._timeline = timeline
        self._join: Callable[[Sequence[Tensor]], Tensor] = join_frames
        self.token_losses: dict[int, MetricOutcome] = {}

    def __iter__(self) -> Generator[LoaderItem, None, None]:
        if self._device.type == "cuda":
            self._join = DeviceUpload(self._device).join
        episodes = read_ahead(
            list(self._sources.values()),
            self._read,
            num_bytes=lambda item: item.num_bytes if isinstance(item, LiveEpisode) else 0,
            num_workers=self._num_workers,
            max_bytes=_MAX_WAITING_BYTES,
            timeline=self._timeline,
        )
        try:
            for batch in _batches(episodes, self._batch_size):
                if isinstance(batch, EpisodeFailed):
                    yield batch
                else:
                    yield from self._predicted(batch)
        finally:
            episodes.close()

    def _read(self, source: LiveSource) -> Iterator[LiveEpisode | EpisodeFailed]:
        try:
            yield self._episode(source)
        except WbgpuError as error:
            yield EpisodeFailed(source.episode_index, error)

    def _episode(self, source: LiveSource) -> LiveEpisode:
        with self._timeline.span("open and check") as opening:
            reader = open_clip(source.target, self._decoder)
            opening.num_frames = reader.info.num_frames
        with reader:
            info, num_context = reader.info, self._num_context
            # Against itself: says what is wrong with the episode alone.
            self._align(info, info)
            num_bytes = info.num_frames * 3 * info.height * info.width
            with self._timeline.span("decode", info.num_frames, num_bytes):
                context = reader.read(0, num_context)
                future = reader.read(num_context, info.num_frames)
        episode = LiveEpisode(
            source.episode_index, source.episode_id, info, context, future, actions=None
        )
        return episode if source.actions is None else _with_actions(episode, source.actions)

    def _predicted(self, episodes: Sequence[LiveEpisode]) -> Iterator[LoaderItem]:
        try:
            num_frames = sum(episode.num_steps for episode in episodes)
            with self._timeline.span("predict", num_frames):
                prediction, tokens = predict(self._model, episodes, self._device, self._seed)
        except WbgpuError as error:
            for episode in episodes:
                yield EpisodeFailed(episode.episode_index, error)
            return
        for row, episode in enumerate(episodes):
            try:
                yield from self._laid_together(
                    episode,
                    None if prediction.frames is None else prediction.frames[row],
                    _logits(prediction, tokens, row),
                )
            except WbgpuError as error:
                yield EpisodeFailed(episode.episode_index, error)

    def _laid_together(
        self, episode: LiveEpisode, frames: Tensor | None, logits: TensorLogits | None
    ) -> Iterator[LoaderItem]:
        info = self._predicted_info(episode, frames, logits)
        alignment = self._align(episode.info, info)
        warnings = (*episode.warnings, *alignment.warnings)
        alignment = dataclasses.replace(alignment, warnings=warnings)
        yield EpisodeOpened(episode.episode_index, alignment)
        if frames is not None and self._save is not None:
            with self._timeline.span("write", len(frames), frames.numel()):
                self._save(episode, frames)
        if frames is not None:
            yield from self._windows(episode, frames, alignment)
        if logits is not None:
            with self._timeline.span("score"), exact_arithmetic():
                self.token_losses[episode.episode_index] = logits_log_loss(
                    logits, alignment.num_steps, self._device, self._statistics_path
                )
        yield EpisodeClosed(episode.episode_index)

    def _windows(
        self, episode: LiveEpisode, frames: Tensor, alignment: Alignment
    ) -> Iterator[LoaderItem]:
        target = episode.future
        height, width = target.shape[2:]
        own: Tensor | None = None
        if frames.shape[2:] != target.shape[2:]:
            with self._timeline.span("resize", len(frames), frames.numel()):
                # Always on the CPU, as for saved videos.
                own = frames.cpu() if self._resize == "bicubic" else None
                frames = resize_frames(frames.cpu(), height=height, width=width, rule=self._resize)
        size = self._window_frames or max(8, _WINDOW_BYTES_PER_VIDEO // (3 * height * width))
        context = episode.context[-1:] if len(episode.context) else None
        overlap = None
        for start in range(0, alignment.num_steps, size):
            steps = slice(start, min(start + size, alignment.num_steps))
            chunk = Chunk(
                episode_index=episode.episode_index,
                first_step=start + 1,
                target=target[steps],
                prediction=frames[steps],
                context=context,
                own_prediction=None if own is None else own[steps],
            )
            with self._timeline.span("pack", 2 * chunk.num_frames, chunk.num_bytes):
                window = pack([chunk], overlap, self._device, self._join)
            overlap = Overlap(
                target[steps][-1:], frames[steps][-1:], None if own is None else own[steps][-1:]
            )
            yield window

    def _predicted_info(
        self, episode: LiveEpisode, frames: Tensor | None, logits: TensorLogits | None
    ) -> VideoInfo:
        """The prediction as the video that it would be."""
        future = episode.future if frames is None else frames
        num_steps = len(future) if logits is None or frames is not None else logits.shape[0]
        return VideoInfo(
            path=str(self._sources[episode.episode_index].prediction.path),
            num_frames=self._num_context + num_steps,
            height=future.shape[2],
            width=future.shape[3],
            fps=episode.info.fps,
            codec="none",
            pixel_format="rgb24",
            color_space=None,
            color_range="full",
            rotation_degrees=0,
            is_variable_frame_rate=False,
            backend="model",
            # Not which of several: results do not depend on who evaluates what.
            device=self._device.type,
        )

    def _align(self, target: VideoInfo, prediction: VideoInfo) -> Alignment:
        return align(
            target,
            prediction,
            num_context=self._num_context,
            policy=self._policy,
            max_mismatch_ratio=self._max_mismatch_ratio,
            max_mismatch_frames=self._max_mismatch_frames,
        )


def _with_actions(episode: LiveEpisode, given: Path | npt.NDArray[np.float32]) -> LiveEpisode:
    actions = read_actions(given) if isinstance(given, Path) else given
    place = given if isinstance(given, Path) else episode.episode_id
    num_rows, num_frames = len(actions), episode.info.num_frames
    if num_rows < episode.num_transitions:
        raise InputError(
            f"{place}: {num_rows} actions, but {episode.info.path} has {num_frames} frames; "
            f"expected one from each frame to the next, at least {episode.num_transitions}"
        )
    warnings = episode.warnings
    if num_rows > num_frames:
        warnings += (
            f"There are {num_rows} actions for {num_frames} frames; those after the last frame are "
            "not used.",
        )
    return dataclasses.replace(episode, actions=torch.from_numpy(actions), warnings=warnings)


def _logits(prediction: Prediction, tokens: Tokens | None, row: int) -> TensorLogits | None:
    if prediction.logits is None or tokens is None:
        return None
    tensors = {"logits": prediction.logits, "targets": tokens.targets}
    for name in ("reference_logits", "reference_loss_nats"):
        if (reference := getattr(tokens, name)) is not None:
            tensors[name] = reference
    return TensorLogits({name: tensor[row] for name, tensor in tensors.items()})


def _batches(
    episodes: Iterator[LiveEpisode | EpisodeFailed], size: int
) -> Iterator[list[LiveEpisode] | EpisodeFailed]:
    batch: list[LiveEpisode] = []
    for episode in episodes:
        if isinstance(episode, EpisodeFailed):
            if batch:
                yield batch
                batch = []
            yield episode
            continue
        if batch and not episode.fits(batch[0]):
            yield batch
            batch = []
        batch.append(episode)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
