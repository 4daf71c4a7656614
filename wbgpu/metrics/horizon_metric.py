"""Base of the metrics that follow from statistics of frames."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torchmetrics.utilities.prints import rank_zero_warn

from wbgpu.metrics.episode_metric import EpisodeMetric, OptionalNumbers
from wbgpu.metrics.horizon_values import HorizonValues, check_valid
from wbgpu.records.metric import MetricOutcome
from wbgpu.statistics import FrameBatch, FrameStatistics, RaggedStatistics, frame_statistics

_CONTEXT_GROUPS = frozenset({"persistence", "dynamic_region"})


class HorizonMetric(EpisodeMetric):
    """Mean over episodes of a metric at horizons 1..num_horizons.

    A subclass sets the class attributes and writes `episode_values`, a pure function of statistics.
    Everything else follows: accumulation over batches and processes (float64 sums and int64 counts
    that add), ragged episodes, and the record of a single episode.

    Several metrics share one pass over the frames like this::

        metrics = [Mse(), SkillPersistence(), VisualSimilarity()]
        groups = frozenset().union(*(metric.statistics for metric in metrics))
        frames = FrameBatch.from_videos(prediction, target, context)
        statistics = frame_statistics(frames, groups).reshape(*target.shape[:2])
        for metric in metrics:
            metric.update_statistics(statistics)

    Class attributes:
        name, metric_id, unit, higher_is_better: see `EpisodeMetric`.
        statistics: groups of `wbgpu.statistics.GROUPS` that are needed.
        undefined_reason: why a horizon, or a whole episode, has no value.
        looks_at_target: false where the value follows from the prediction alone, whose own size
            then counts.

    Args:
        num_horizons: the most steps that an episode given to `update` may have.
        statistics_path: implementation of the statistics; see `wbgpu.statistics.resolve_path`.
    """

    statistics: frozenset[str]
    undefined_reason: ClassVar[str] = "The metric is not defined for these frames."
    looks_at_target: ClassVar[bool] = True

    def __init__(
        self, num_horizons: int = 16, statistics_path: str = "auto", **torchmetrics_arguments: Any
    ) -> None:
        super().__init__(num_horizons, **torchmetrics_arguments)
        self.statistics_path = statistics_path

    @abstractmethod
    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """Values of ``statistics [B, T]``; entry t may depend on steps 1..t only."""

    def horizon_values(
        self, statistics: FrameStatistics, valid: Tensor | None = None
    ) -> HorizonValues:
        """Values of every episode at every horizon, without touching the state.

        Args:
            statistics: ``[B, T]``, with this metric's groups.
            valid: bool ``[B, T]``, steps that exist (steps 1..t of each episode); all by default.

        Returns:
            NaN where a step does not exist or the metric is not defined.
        """
        values = self.episode_values(statistics)
        if valid is None:
            return values
        check_valid(valid, statistics.shape)
        return values.where_valid(valid)

    def update(
        self,
        prediction: Tensor,
        target: Tensor,
        valid: Tensor | None = None,
        context: Tensor | None = None,
    ) -> None:
        """Add a batch of episodes.

        Args:
            prediction: uint8 RGB ``[B, T, 3, H, W]``, 0-255, any strides.
            target: uint8 ``[B, T, 3, H, W]``.
            valid: bool ``[B, T]``, steps that exist; all by default.
            context: uint8 ``[B, 3, H, W]``, the last frame before step 1, for metrics that compare
                with it. Those that need it warn when it is missing, and have no values.

        Raises:
            TypeError: frames that are not uint8, or a ``valid`` that is not a tensor of bool.
            ValueError: shapes or devices that do not fit together, or more than ``num_horizons``
                steps.
        """
        batch = FrameBatch.from_videos(prediction, target, context)
        shape = target.shape[:2]
        # Before the statistics, which take time.
        self._check_shape(shape)
        if valid is not None:
            check_valid(valid, shape)
        if context is None and self.statistics & _CONTEXT_GROUPS:
            rank_zero_warn(
                f"{self.name} compares with the last frame before step 1, but update was given no "
                "context; these episodes have no values. Give context, [B, 3, H, W].",
                stacklevel=2,
            )
        statistics = frame_statistics(batch, self.statistics, self.statistics_path)
        self._add_episodes(statistics.reshape(*shape), valid)

    def update_statistics(self, statistics: FrameStatistics, valid: Tensor | None = None) -> None:
        """Add a batch of episodes by their statistics, which many metrics can share.

        Args:
            statistics: ``[B, T]``, with at least this metric's groups.
            valid: bool ``[B, T]``, steps that exist; all by default.

        Raises:
            ValueError: statistics that are not ``[B, T]`` or lack a group, a ``valid`` that does
                not fit, or more than ``num_horizons`` steps.
        """
        # As torchmetrics does around `update`: forget the cached result, count the update.
        self._wrap_update(self._add_episodes)(statistics, valid)

    def outcome(self, statistics: FrameStatistics) -> MetricOutcome:
        """The record of one episode; ``statistics`` are ``[1, T]``, T >= 1.

        The episode's value is that of its last prefix.

        Raises:
            ValueError: statistics of another shape, or without this metric's groups.
        """
        return self.outcomes(RaggedStatistics.of([statistics]))[0]

    def outcomes(self, episodes: RaggedStatistics) -> list[MetricOutcome]:
        """`outcome` of each episode, for little more than the cost of one."""
        values = self.horizon_values(episodes.statistics, episodes.valid)
        lengths = [episode.shape[1] for episode in episodes.episodes]
        prefix, step = _rows(values.prefix, lengths), _rows(values.step, lengths)
        details = {name: _rows(column, lengths) for name, column in values.details.items()}
        return [
            self.episode_outcome(
                statistics,
                prefix[index],
                step[index],
                {name: rows[index] for name, rows in details.items()},
            )
            for index, statistics in enumerate(episodes.episodes)
        ]

    def episode_outcome(
        self,
        statistics: FrameStatistics,
        prefix: OptionalNumbers,
        step: OptionalNumbers,
        details: Mapping[str, tuple[Any, ...]],
    ) -> MetricOutcome:
        """The record of one episode from its values.

        Args:
            statistics: of the episode, ``[1, T]``.
            prefix, step: of `HorizonValues`, T long, ``None`` where undefined.
            details: likewise, by column.
        """
        if prefix[-1] is None:
            reason = self.unsupported_reason(statistics)
            return MetricOutcome(self.name, self.metric_id, "unsupported", reason=reason)
        return MetricOutcome(
            self.name,
            self.metric_id,
            "available",
            value=prefix[-1],
            prefix=prefix,
            prefix_reasons=(
                tuple(self.undefined_reason if value is None else None for value in prefix)
                if None in prefix
                else ()
            ),
            step=step if any(value is not None for value in step) else (),
            prefix_details=details,
        )

    def unsupported_reason(self, statistics: FrameStatistics) -> str:
        """Why the episode ``statistics [1, T]`` as a whole has no value."""
        del statistics
        return self.undefined_reason

    def _check_shape(self, shape: torch.Size) -> None:
        if len(shape) != 2:
            raise ValueError(
                f"statistics {tuple(shape)}: expected [B, T]; statistics of B videos of T steps "
                "become that by statistics.reshape(B, T)"
            )
        self._check_num_steps(shape[1])

    def _add_episodes(self, statistics: FrameStatistics, valid: Tensor | None) -> None:
        self._check_shape(statistics.shape)
        values = self.horizon_values(statistics, valid)
        self._add_views(torch.stack([values.prefix, values.step]))


def _rows(column: Tensor, lengths: Sequence[int]) -> list[tuple[Any, ...]]:
    # Only NaN differs from itself.
    return [
        tuple([None if v != v else v for v in row[:length]])
        for row, length in zip(column.tolist(), lengths, strict=True)
    ]
