"""Base of all frame metrics: a torchmetrics module with a value per horizon."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor
from torchmetrics import Metric

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.horizon_values import HorizonValues, check_valid
from wbgpu.records.metric import MetricInfo, MetricOutcome
from wbgpu.statistics import FrameBatch, FrameStatistics, frame_statistics


class HorizonMetric(Metric):
    """Mean over episodes of a metric at horizons 1..num_horizons.

    A subclass sets the class attributes and writes `episode_values`, a pure function of statistics.
    Everything else follows: accumulation over batches and processes (float64 sums and int64 counts
    that add), ragged episodes, and the record of a single episode.

    Class attributes:
        name: the key in results and configs.
        metric_id: name, definition and version; values under different ids are never compared.
        unit: ``score`` for 0-100, otherwise the native unit.
        higher_is_better: direction of improvement.
        statistics: groups of `wbgpu.statistics.GROUPS` that are needed.
        undefined_reason: why a horizon, or a whole episode, has no value.

    Args:
        num_horizons: horizons kept by `update`; longer episodes are cut there.
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

    prefix_sum: Tensor
    prefix_count: Tensor
    step_sum: Tensor
    step_count: Tensor

    def __init__(
        self, num_horizons: int = 16, statistics_path: str = "auto", **torchmetrics_arguments: Any
    ) -> None:
        super().__init__(**torchmetrics_arguments)
        if num_horizons < 1:
            raise ConfigurationError(f"num_horizons: expected at least 1, got {num_horizons}")
        self.num_horizons = num_horizons
        self.statistics_path = statistics_path
        for view in ("prefix", "step"):
            zeros = torch.zeros(num_horizons, dtype=torch.float64)
            self.add_state(f"{view}_sum", zeros, dist_reduce_fx="sum")
            self.add_state(f"{view}_count", zeros.long(), dist_reduce_fx="sum")

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """Values of ``statistics [B, T]``; entry t may depend on steps 1..t only."""
        raise NotImplementedError

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
                with it.

        Raises:
            TypeError: frames that are not uint8.
            ValueError: shapes or devices that do not fit together.
        """
        batch = FrameBatch.from_videos(prediction, target, context)
        shape = target.shape[:2]
        if valid is not None:
            check_valid(valid, shape)
        statistics = frame_statistics(batch, self.statistics, self.statistics_path)
        values = self.horizon_values(statistics.reshape(*shape), valid)
        # New tensors, never in place: one made under inference_mode cannot be updated outside it.
        self.prefix_sum, self.prefix_count = self._add(
            self.prefix_sum, self.prefix_count, values.prefix
        )
        self.step_sum, self.step_count = self._add(self.step_sum, self.step_count, values.step)

    def compute(self) -> dict[str, Tensor]:
        """Means over episodes.

        Returns:
            ``prefix``, ``step``: float64 ``[num_horizons]``, NaN exactly where the count is 0;
            ``prefix_count``, ``step_count``: int64 ``[num_horizons]``, episodes that have a value.
            With ``num_horizons=1`` torchmetrics makes 0-d tensors of them.
        """
        return {
            "prefix": self.prefix_sum / self.prefix_count,
            "step": self.step_sum / self.step_count,
            "prefix_count": self.prefix_count,
            "step_count": self.step_count,
        }

    @property
    def info(self) -> MetricInfo:
        """Identity of the metric, as it stands in results."""
        return MetricInfo(self.name, self.metric_id, self.unit, self.higher_is_better)

    def outcome(self, statistics: FrameStatistics) -> MetricOutcome:
        """The record of one episode; ``statistics`` are ``[1, T]``, T >= 1.

        The episode's value is that of its last prefix.
        """
        if statistics.shape[0] != 1 or statistics.shape[1] == 0:
            raise ValueError(
                f"statistics {tuple(statistics.shape)}: expected one episode, [1, T] with T >= 1"
            )
        values = self.horizon_values(statistics)
        prefix, step = _row(values.prefix), _row(values.step)
        if prefix[-1] is None:
            reason = self.unsupported_reason(statistics)
            return MetricOutcome(self.name, self.metric_id, "unsupported", reason=reason)
        return MetricOutcome(
            self.name,
            self.metric_id,
            "available",
            value=prefix[-1],
            prefix=prefix,
            prefix_reason=self.undefined_reason if None in prefix else None,
            step=step if any(value is not None for value in step) else (),
            prefix_details={name: _row(column) for name, column in values.details.items()},
        )

    def unsupported_reason(self, statistics: FrameStatistics) -> str:
        """Why the episode ``statistics [1, T]`` as a whole has no value."""
        del statistics
        return self.undefined_reason

    def set_dtype(self, dst_type: str | torch.dtype) -> HorizonMetric:
        """Do nothing: sums stay float64, whatever precision a model runs in."""
        del dst_type
        return self

    def _add(self, total: Tensor, count: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        values = values[:, : self.num_horizons]
        padding = (0, self.num_horizons - values.shape[1])
        defined = ~values.isnan()
        sums = torch.where(defined, values, torch.zeros_like(values)).sum(dim=0)
        pad = torch.nn.functional.pad
        return total + pad(sums, padding), count + pad(defined.sum(dim=0), padding)


def _row(column: Tensor) -> tuple[Any, ...]:
    values = column[0].tolist()
    return tuple(None if isinstance(v, float) and math.isnan(v) else v for v in values)
