"""Base of all frame metrics: a torchmetrics module with a value per horizon."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor
from torchmetrics.utilities.prints import rank_zero_warn

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.exact_state import ExactStateMetric
from wbgpu.metrics.horizon_values import HorizonValues, check_valid
from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.statistics import FrameBatch, FrameStatistics, RaggedStatistics, frame_statistics

OptionalNumbers: TypeAlias = tuple[float | None, ...]

_CONTEXT_GROUPS = frozenset({"persistence", "dynamic_region"})


class HorizonMetric(ExactStateMetric):
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

    The states are named after ``metric_id``, because torchmetrics' ``MetricCollection`` takes
    metrics for one and the same when names and first values of their states agree, as those of
    perfect predictions do. A subclass that chooses its id in ``__init__`` therefore does so before
    ``super().__init__()``.

    Class attributes:
        name: the key in results and configs.
        metric_id: name, definition and version; values under different ids are never compared.
        unit: ``score`` for 0-100, otherwise the native unit.
        higher_is_better: direction of improvement.
        statistics: groups of `wbgpu.statistics.GROUPS` that are needed.
        undefined_reason: why a horizon, or a whole episode, has no value.

    Args:
        num_horizons: the most steps that an episode given to `update` may have.
        statistics_path: implementation of the statistics; see `wbgpu.statistics.resolve_path`.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    statistics: frozenset[str]
    metric_id: str
    undefined_reason: ClassVar[str] = "The metric is not defined for these frames."

    is_differentiable = False
    full_state_update = False
    higher_is_better: bool

    def __init__(
        self, num_horizons: int = 16, statistics_path: str = "auto", **torchmetrics_arguments: Any
    ) -> None:
        super().__init__(**torchmetrics_arguments)
        if num_horizons < 1:
            raise ConfigurationError(f"num_horizons: expected at least 1, got {num_horizons}")
        self.num_horizons = num_horizons
        self.statistics_path = statistics_path
        key = state_key(self.metric_id)
        self._sum_name, self._count_name = f"{key}_sum", f"{key}_count"
        # The first dimension: prefix and step.
        zeros = torch.zeros((2, num_horizons), dtype=torch.float64, device=self._device)
        self.add_state(self._sum_name, zeros, dist_reduce_fx="sum")
        self.add_state(self._count_name, zeros.long(), dist_reduce_fx="sum")

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
        self._check_num_steps(shape)
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

    def compute(self) -> dict[str, Tensor]:
        """Means over episodes.

        Returns:
            ``prefix``, ``step``: float64 ``[num_horizons]``, NaN exactly where the count is 0;
            ``prefix_count``, ``step_count``: int64 ``[num_horizons]``, episodes that have a value.
            With ``num_horizons=1`` torchmetrics makes 0-d tensors of them.
        """
        total, count = self._totals()
        mean = total / count
        return {
            "prefix": mean[0],
            "step": mean[1],
            "prefix_count": count[0],
            "step_count": count[1],
        }

    @property
    def info(self) -> MetricInfo:
        """Identity of the metric, as it stands in results."""
        return MetricInfo(self.name, self.metric_id, self.unit, self.higher_is_better)

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

    def _check_num_steps(self, shape: torch.Size) -> None:
        if len(shape) != 2:
            raise ValueError(
                f"statistics {tuple(shape)}: expected [B, T]; statistics of B videos of T steps "
                "become that by statistics.reshape(B, T)"
            )
        if shape[1] > self.num_horizons:
            raise ValueError(
                f"num_horizons of {self.name} is {self.num_horizons}, but the episodes have "
                f"{shape[1]} steps; make the metric with num_horizons={shape[1]}, or give fewer "
                "steps"
            )

    def _add_episodes(self, statistics: FrameStatistics, valid: Tensor | None) -> None:
        self._check_num_steps(statistics.shape)
        values = self.horizon_values(statistics, valid)
        views = torch.stack([values.prefix, values.step])
        defined = ~views.isnan()
        sums = torch.where(defined, views, torch.zeros_like(views)).sum(dim=1)
        self._add_totals(sums, defined.sum(dim=1))

    def _add_totals(self, sums: Tensor, counts: Tensor) -> None:
        """Add ``[2, T]`` to the state."""
        total, count = self._totals()
        padding = (0, self.num_horizons - sums.shape[1])
        pad = torch.nn.functional.pad
        # New tensors, never in place: one made under inference_mode cannot be updated outside it.
        setattr(self, self._sum_name, total + pad(sums, padding).to(total.device))
        setattr(self, self._count_name, count + pad(counts, padding).to(count.device))

    def _totals(self) -> tuple[Tensor, Tensor]:
        """Sums and counts, ``[2, num_horizons]``: of prefixes and of steps."""
        return getattr(self, self._sum_name), getattr(self, self._count_name)


def state_key(metric_id: str) -> str:
    """The part of a state's name that says which metric it belongs to."""
    return re.sub(r"\W", "_", metric_id)


def _rows(column: Tensor, lengths: Sequence[int]) -> list[tuple[Any, ...]]:
    # Only NaN differs from itself.
    return [
        tuple([None if v != v else v for v in row[:length]])
        for row, length in zip(column.tolist(), lengths, strict=True)
    ]
