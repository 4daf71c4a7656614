"""The LightningModule that turns windows of frames into scored episodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule

from wbgpu.episodes.logits import LogitFiles
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.evaluation.episode import MeasuredEpisode, failed_episode, scored_episodes
from wbgpu.evaluation.exact_arithmetic import exact_arithmetic
from wbgpu.evaluation.networks import EpisodeNetworks
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.evaluation.token_losses import token_log_loss
from wbgpu.evaluation.tracking import EpisodeTracks
from wbgpu.metrics import FrameValueMetric, HorizonMetric, TrackMetric
from wbgpu.records.distribution_distance import Features
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeResult
from wbgpu.records.timeline import NO_TIMELINE, Timeline
from wbgpu.records.video import Alignment
from wbgpu.statistics import FrameBatch, FrameStatistics, frame_statistics
from wbgpu.statistics.cpu_workers import run_on_one_thread
from wbgpu.video.loader import LoaderItem
from wbgpu.video.windows import EpisodeClosed, EpisodeOpened, PredictionRest, Window

# Scoring costs a millisecond whatever the number of steps, up to about so many.
_STEPS_SCORED_TOGETHER = 256
# Where somebody keeps the records, they are not to be lost with a process that dies.
_MAX_SECONDS_UNTOLD = 0.1


class EvaluationModule(LightningModule):
    """Measures and scores every episode; run it with ``Trainer.test``.

    Episodes are scored soon after their last frame is measured, a few short ones together, while
    the next ones are decoded.

    Attributes:
        episodes: the record of each episode, scored or failed, by its index.
        features: of each scored episode, by its index and the name of a distance of distributions;
            there before the episode's record.

    Args:
        request: metrics, profile and path of the statistics.
        pairs: the episodes, by index.
        logits: saved logits by episode id, or none.
        timeline: measures statistics and scoring.
        on_episode: is given each episode's record and features as soon as they are complete.
        live_token_losses: of the logits that a model predicts, by episode index; filled by the
            loader before it closes the episode.
    """

    def __init__(
        self,
        request: EvaluationRequest,
        pairs: Sequence[EpisodePair],
        logits: Mapping[str, LogitFiles],
        timeline: Timeline = NO_TIMELINE,
        on_episode: Callable[[EpisodeResult, Features], None] | None = None,
        live_token_losses: Mapping[int, MetricOutcome] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._request = request
        self._pairs = pairs
        self._logits = logits
        self._timeline = timeline
        self._on_episode = on_episode
        self._live_token_losses = live_token_losses
        self._profile = request.measured_profile
        self._groups = frozenset[str]().union(
            *(m.statistics for m in request.metrics.values() if isinstance(m, HorizonMetric))
        )
        self._own_groups = frozenset[str]().union(
            *(
                m.statistics
                for m in request.metrics.values()
                if isinstance(m, HorizonMetric) and not m.looks_at_target
            )
        )
        self._track_metrics = [m for m in request.metrics.values() if isinstance(m, TrackMetric)]
        self._frame_value_metrics = [
            m for m in request.metrics.values() if isinstance(m, FrameValueMetric)
        ]
        self._alignments: dict[int, Alignment] = {}
        self._chunks: dict[int, list[FrameStatistics]] = {}
        self._own_chunks: dict[int, list[FrameStatistics]] = {}
        self._rests: dict[int, list[FrameStatistics]] = {}
        self._tracks: dict[int, EpisodeTracks] = {}
        self._networks: dict[int, EpisodeNetworks] = {}
        self._measured: dict[int, MeasuredEpisode] = {}
        self._scored_at = 0.0
        self.episodes: dict[int, EpisodeResult] = {}
        self.features: dict[int, Features] = {}

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """The loader has put frames on the device already, overlapping the copy."""
        return batch

    def on_test_start(self) -> None:
        """Compile or load the kernels while the first frames are decoded, as a stage of its own."""
        frame = torch.zeros((1, 1, 3, 7, 7), dtype=torch.uint8, device=self.device)
        with self._timeline.span("load kernels"), exact_arithmetic():
            self._frame_statistics(FrameBatch.from_videos(frame, frame, frame[0]))
            for network in (*self._frame_value_metrics, *self._request.distances.values()):
                network.to(self.device)

    def test_step(self, items: Iterable[LoaderItem], index: int) -> None:
        """Take all of the loader's items, each as soon as it is there."""
        for item in items:
            # Not around the loader, which may run a model.
            with exact_arithmetic():
                self._take(item)
                is_awaited = self._on_episode is not None and bool(self._measured)
                if is_awaited and time.monotonic() - self._scored_at >= _MAX_SECONDS_UNTOLD:
                    self._score()
            # Two windows are not to be held.
            del item

    def on_test_end(self) -> None:
        """Score what is left."""
        with exact_arithmetic():
            self._score()

    def _take(self, item: LoaderItem) -> None:
        if isinstance(item, Window):
            self._measure(item)
        elif isinstance(item, EpisodeOpened):
            self._alignments[item.episode_index] = item.alignment
            self._chunks[item.episode_index] = []
            self._own_chunks[item.episode_index] = []
            self._rests[item.episode_index] = []
            self._tracks[item.episode_index] = EpisodeTracks(
                self._track_metrics,
                self._pairs[item.episode_index],
                item.alignment.num_context,
            )
            target = item.alignment.target
            self._networks[item.episode_index] = EpisodeNetworks(
                self._frame_value_metrics, self._request.distances, (target.height, target.width)
            )
        elif isinstance(item, EpisodeClosed):
            self._close(item.episode_index)
        elif isinstance(item, PredictionRest):
            self._measure_rest(item)
        else:
            self._alignments.pop(item.episode_index, None)
            for table in (
                self._chunks,
                self._own_chunks,
                self._rests,
                self._tracks,
                self._networks,
            ):
                table.pop(item.episode_index, None)
            pair = self._pairs[item.episode_index]
            self._record(item.episode_index, failed_episode(pair, item.error))

    def _close(self, index: int) -> None:
        chunks, own, rest = (t.pop(index) for t in (self._chunks, self._own_chunks, self._rests))
        if rest and not own:
            own = [chunk.select(rest[0].present()) for chunk in chunks]
        statistics = _whole(chunks)
        pair, alignment = self._pairs[index], self._alignments.pop(index)
        networks = self._networks.pop(index)
        if networks.is_wanted:
            with self._timeline.span("networks"):
                networks.close()
        self.features[index] = networks.features() if statistics is not None else {}
        files = self._logits.get(pair.episode_id)
        tokens = self._live_token_losses.get(index)
        if files is not None:
            with self._timeline.span("score"):
                tokens = token_log_loss(
                    files, alignment.num_steps, self.device, self._request.statistics_path
                )
        self._measured[index] = MeasuredEpisode(
            pair,
            alignment,
            statistics,
            tokens,
            _whole([*own, *rest]),
            self._tracks.pop(index),
            networks,
            sum(part.shape[0] for part in rest),
        )
        most = max(episode.alignment.num_steps for episode in self._measured.values())
        if len(self._measured) * most >= _STEPS_SCORED_TOGETHER:
            self._score()

    def _score(self) -> None:
        if not self._measured:
            return
        episodes = [*self._measured.values()]
        with self._timeline.span("score"):
            records = run_on_one_thread(
                partial(scored_episodes, episodes, self._request.metrics, self._profile)
            )
        for index, record in zip(self._measured, records, strict=True):
            self._record(index, record)
        self._measured.clear()
        self._scored_at = time.monotonic()

    def _record(self, index: int, episode: EpisodeResult) -> None:
        self.episodes[index] = episode
        if self._on_episode is not None:
            self._on_episode(episode, self.features.get(index, {}))

    def _measure(self, window: Window) -> None:
        batch = FrameBatch(
            target=window.target,
            prediction=window.prediction,
            row=window.row,
            previous_row=window.previous_row,
            context=window.context,
            context_row=window.context_row,
        )
        target = window.target
        with self._timeline.span("statistics", 2 * len(window.step), 2 * target.numel()):
            statistics = self._frame_statistics(batch)
        # An episode's steps stand together.
        changes = np.flatnonzero(np.diff(window.episode_index)) + 1
        for start, stop in pairwise([0, *changes.tolist(), len(window.step)]):
            self._chunks[int(window.episode_index[start])].append(statistics[start:stop])
            self._look(window, start, stop)
        if window.own_prediction is not None and self._own_groups:
            own = replace(batch, target=window.own_prediction, prediction=window.own_prediction)
            own = replace(own, context=None, context_row=torch.full_like(own.context_row, -1))
            self._own_chunks[int(window.episode_index[0])].append(
                self._frame_statistics(own, self._own_groups)
            )

    def _measure_rest(self, rest: PredictionRest) -> None:
        """Frames that no target stands against: each is its own, and only deltas mean anything."""
        frames, num_frames = rest.frames, len(rest.frames) - 1
        row = torch.arange(1, num_frames + 1, device=frames.device)
        batch = FrameBatch(
            target=frames,
            prediction=frames,
            row=row,
            previous_row=row - 1,
            context=None,
            context_row=torch.full_like(row, -1),
        )
        with self._timeline.span("statistics", num_frames, frames.numel()):
            self._rests[rest.episode_index].append(self._frame_statistics(batch, self._own_groups))
        with self._timeline.span("track", num_frames, frames.numel()):
            self._tracks[rest.episode_index].take_rest(frames[1:])

    def _look(self, window: Window, start: int, stop: int) -> None:
        """Show an episode's frames to what wants to see them and not statistics alone."""
        index = int(window.episode_index[start])
        tracks, networks = self._tracks[index], self._networks[index]
        # Frames that no row scores come first.
        frames = slice(*(len(window.target) - len(window.step) + row for row in (start, stop)))
        prediction, target = window.prediction[frames], window.target[frames]
        own = prediction if window.own_prediction is None else window.own_prediction[frames]
        if tracks.is_wanted:
            with self._timeline.span("track", stop - start, target.numel()):
                tracks.take(prediction=prediction, target=target, own_prediction=own)
        if networks.is_wanted:
            with self._timeline.span("networks", 2 * (stop - start), 2 * target.numel()):
                networks.take(prediction, target)

    def _frame_statistics(
        self, batch: FrameBatch, groups: frozenset[str] | None = None
    ) -> FrameStatistics:
        groups = self._groups if groups is None else groups
        statistics = frame_statistics(batch, groups, self._request.statistics_path)
        if self._timeline.is_on and batch.target.is_cuda:
            torch.cuda.synchronize(batch.target.device)
        return statistics


def _whole(chunks: Sequence[FrameStatistics]) -> FrameStatistics | None:
    """Statistics ``[1, T]`` of an episode on the CPU; ``None`` of one without frames."""
    return FrameStatistics.cat(chunks).to("cpu").reshape(1, -1) if chunks else None
