"""Skill against persistence: how much better than copying the last context frame?

Formula: 1 - sum (target - prediction)^2 / sum (target - last context frame)^2. Sums run over a
frame (step) or over all steps of a prefix: a ratio of sums, never a mean of ratios. 1 is perfect,
0 is as good as the copy, negative is worse; there is no lower bound. Undefined where the copy is
perfect.
The same score is standard in weather forecasting (mean squared error skill score, Murphy 1988).
The dynamic variant takes both sums over the dynamic region only (see dynamic_region).
"""

from __future__ import annotations

from torch import Tensor

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.statistics import FrameStatistics


def skill_persistence(statistics: FrameStatistics) -> HorizonValues:
    """Skill of ``statistics [B, T]`` with groups ``squared_error`` and ``persistence``."""
    return _skill(
        statistics.require("squared_error_sum"),
        statistics.require("persistence_squared_error_sum"),
    )


def skill_persistence_dynamic(statistics: FrameStatistics) -> HorizonValues:
    """Skill over the dynamic region of ``statistics [B, T]`` with group ``dynamic_region``."""
    return _skill(
        statistics.require("dynamic_squared_error_sum"),
        statistics.require("dynamic_persistence_squared_error_sum"),
    )


def _skill(squared_error_sum: Tensor, persistence_squared_error_sum: Tensor) -> HorizonValues:
    prefix, step = pooled_ratio(squared_error_sum, persistence_squared_error_sum)
    return HorizonValues(1 - prefix, 1 - step)


class SkillPersistence(HorizonMetric):
    """Mean squared error skill score against copying the last context frame."""

    name = "skill_persistence"
    metric_id = "skill_persistence/wbgpu-1.0"
    unit = "skill"
    higher_is_better = True
    statistics = frozenset({"squared_error", "persistence"})
    undefined_reason = "Copying the last context frame is perfect so far."

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `skill_persistence`."""
        return skill_persistence(statistics)

    def unsupported_reason(self, statistics: FrameStatistics) -> str:
        """Either there is no context frame or copying it is perfect."""
        if not bool(statistics.require("has_context").any()):
            return "There is no context frame to copy."
        return "Copying the last context frame is perfect."


class SkillPersistenceDynamic(SkillPersistence):
    """The same skill score over the dynamic region only."""

    name = "skill_persistence_dynamic"
    metric_id = "skill_persistence_dynamic/wbgpu-1.0"
    statistics = frozenset({"dynamic_region"})
    undefined_reason = "Nothing has moved away from the last context frame so far."

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `skill_persistence_dynamic`."""
        return skill_persistence_dynamic(statistics)

    def unsupported_reason(self, statistics: FrameStatistics) -> str:
        """Either there is no context frame or nothing moves."""
        if not bool(statistics.require("has_context").any()):
            return "There is no context frame to copy."
        return "Nothing moves away from the last context frame."
