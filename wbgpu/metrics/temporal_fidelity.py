"""Temporal fidelity: does the prediction move as much as the target, at each step?

With d_t = mean abs(frame_t - frame_{t-1}) of prediction and target, the value of step t is
abs(d_pred - d_target) in intensity levels; a prefix is the mean over its transitions. Its detail
``motion_ratio`` is the sum of d_pred over the sum of d_target: 0 for a frozen prediction, above 1
for a restless one. Horizon 1 has no transition.
No other tool computes it; it fills the blind spot of temporal_stability, which never sees the
target.
"""

from __future__ import annotations

import torch

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.statistics import FrameStatistics


def temporal_fidelity(statistics: FrameStatistics) -> HorizonValues:
    """Mean abs(d_pred - d_target), 0-255, of ``statistics [B, T]`` with group ``frame_delta``.

    Returns:
        NaN at horizon 1. Details, by prefix: ``motion_ratio`` (NaN where the target has not moved
        yet), ``mean_prediction_delta`` and ``mean_target_delta`` (intensity levels).
    """
    prediction = statistics.require("prediction_delta_sum")
    target = statistics.require("target_delta_sum")
    # Step 1 has no previous frame: its sums are 0 and it does not count.
    num_values = torch.where(statistics.require("has_previous"), statistics.num_values, 0)
    prefix, step = pooled_ratio((prediction - target).abs(), num_values)
    details = {
        "motion_ratio": pooled_ratio(prediction, target)[0],
        "mean_prediction_delta": pooled_ratio(prediction, num_values)[0],
        "mean_target_delta": pooled_ratio(target, num_values)[0],
    }
    return HorizonValues(prefix, step, details)


class TemporalFidelity(HorizonMetric):
    """Mean difference of the amounts of motion of prediction and target, in intensity levels."""

    name = "temporal_fidelity"
    metric_id = "temporal_fidelity/wbgpu-1.0"
    unit = "intensity"
    higher_is_better = False
    statistics = frozenset({"frame_delta"})
    undefined_reason = "There is no earlier predicted step to see motion from."

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `temporal_fidelity`."""
        return temporal_fidelity(statistics)
