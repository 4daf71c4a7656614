"""Mean squared error.

Formula: mean over H, W and the 3 channels of (target - prediction)^2, values 0-255, from exact
integer sums. A prefix is the mean over its steps, which equals the error of all its pixels pooled.
Matches ``torchmetrics.functional.mean_squared_error`` on float64 copies of the frames.
"""

from __future__ import annotations

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.statistics import FrameStatistics


def mse(statistics: FrameStatistics) -> HorizonValues:
    """Mean squared error, 0 to 65025, of ``statistics [B, T]`` with group ``squared_error``."""
    squared_error_sum = statistics.require("squared_error_sum")
    return HorizonValues(*pooled_ratio(squared_error_sum, statistics.num_values))


class Mse(HorizonMetric):
    """Mean squared error per pixel and channel, in squared intensity levels (0-255)."""

    name = "mse"
    metric_id = "mse/wbgpu-1.0"
    unit = "squared intensity"
    higher_is_better = False
    statistics = frozenset({"squared_error"})

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `mse`."""
        return mse(statistics)
