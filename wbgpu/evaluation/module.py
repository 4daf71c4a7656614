"""The LightningModule that turns windows of frames into per-step statistics."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningModule

from wbgpu.errors import WbgpuError
from wbgpu.records.video import Alignment
from wbgpu.statistics import FrameBatch, FrameStatistics, frame_statistics
from wbgpu.video.windows import EpisodeClosed, EpisodeFailed, EpisodeOpened, Window


class EvaluationModule(LightningModule):
    """Collects the statistics of every step of every episode; run it with ``Trainer.test``.

    Attributes:
        statistics: of each finished episode by its index, on the CPU, ``[1, T]``.
        alignments: of each opened episode.
        failures: of each episode that could not be scored.

    Args:
        groups: names of the statistics that the metrics need.
        path: ``auto``, ``reference`` or ``cpu``.
    """

    def __init__(self, groups: frozenset[str], path: str) -> None:
        super().__init__()
        self._groups = groups
        self._path = path
        self._chunks: dict[int, list[FrameStatistics]] = {}
        self.statistics: dict[int, FrameStatistics] = {}
        self.alignments: dict[int, Alignment] = {}
        self.failures: dict[int, WbgpuError] = {}

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """The loader has put frames on the device already, overlapping the copy."""
        return batch

    def test_step(
        self, item: Window | EpisodeOpened | EpisodeClosed | EpisodeFailed, index: int
    ) -> None:
        """Take one item of the loader."""
        if isinstance(item, Window):
            self._measure(item)
        elif isinstance(item, EpisodeOpened):
            self.alignments[item.episode_index] = item.alignment
            self._chunks[item.episode_index] = []
        elif isinstance(item, EpisodeClosed):
            chunks = self._chunks.pop(item.episode_index)
            rows = FrameStatistics.cat(chunks).to("cpu")
            self.statistics[item.episode_index] = rows.reshape(1, -1)
        else:
            self._chunks.pop(item.episode_index, None)
            self.failures[item.episode_index] = item.error

    def _measure(self, window: Window) -> None:
        batch = FrameBatch(
            target=window.target,
            prediction=window.prediction,
            row=window.row,
            previous_row=window.previous_row,
            context=window.context,
            context_row=window.context_row,
        )
        statistics = frame_statistics(batch, self._groups, self._path)
        for episode_index in sorted(set(window.episode_index.tolist())):
            rows = (window.episode_index == episode_index).nonzero().squeeze(1)
            self._chunks[episode_index].append(statistics[rows])
