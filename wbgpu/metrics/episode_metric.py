"""What all metrics of frames are: a torchmetrics module with a mean over episodes per horizon."""

from __future__ import annotations

import re
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.exact_state import ExactStateMetric
from wbgpu.records.metric import MetricInfo

OptionalNumbers: TypeAlias = tuple[float | None, ...]


class EpisodeMetric(ExactStateMetric):
    """Sums and counts over episodes at horizons 1..num_horizons, which add across processes.

    The states are named after ``metric_id``, because torchmetrics' ``MetricCollection`` takes
    metrics for one and the same when names and first values of their states agree, as those of
    perfect predictions do. A subclass that chooses its id in ``__init__`` therefore does so before
    ``super().__init__()``.

    Class attributes:
        name: the key in results and configs.
        metric_id: name, definition and version; values under different ids are never compared.
        unit: ``score`` for 0-100, otherwise the native unit.
        higher_is_better: direction of improvement.

    Args:
        num_horizons: the most steps that an episode given to `update` may have.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    metric_id: str

    is_differentiable = False
    full_state_update = False
    higher_is_better: bool

    def __init__(self, num_horizons: int = 16, **torchmetrics_arguments: Any) -> None:
        super().__init__(**torchmetrics_arguments)
        if num_horizons < 1:
            raise ConfigurationError(f"num_horizons: expected at least 1, got {num_horizons}")
        self.num_horizons = num_horizons
        key = state_key(self.metric_id)
        self._sum_name, self._count_name = f"{key}_sum", f"{key}_count"
        # The first dimension: prefix and step.
        zeros = torch.zeros((2, num_horizons), dtype=torch.float64, device=self._device)
        self.add_state(self._sum_name, zeros, dist_reduce_fx="sum")
        self.add_state(self._count_name, zeros.long(), dist_reduce_fx="sum")

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

    def _check_num_steps(self, num_steps: int) -> None:
        if num_steps > self.num_horizons:
            raise ValueError(
                f"num_horizons of {self.name} is {self.num_horizons}, but the episodes have "
                f"{num_steps} steps; make the metric with num_horizons={num_steps}, or give fewer "
                "steps"
            )

    def _add_views(self, views: Tensor) -> None:
        """Add the values of episodes, float64 ``[2, B, T]``: of prefixes and of steps."""
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
