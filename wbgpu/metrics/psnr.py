"""Peak signal-to-noise ratio, as the mean of the frames' PSNR.

Formula: per frame 10 log10(255^2 / mse), at most 60 dB (equal frames, infinite by definition, are
60 dB); a prefix is the mean over its steps. ``psnr_of_mean_mse``, among the details, is the PSNR
of the prefix's pooled error, a different number: the mean weighs good frames more.
Matches ``torchmetrics.functional.image.peak_signal_noise_ratio(data_range=255)`` frame by frame
below the cap. worldbench's PSNR, inside visual_similarity, caps equal frames only.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues, prefix_mean
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.statistics import FrameStatistics

MAX_PSNR_DB = 60.0
"""Cap, in dB: an error of one level in one of 15 values."""


def psnr_of_mse(mse: Tensor) -> Tensor:
    """PSNR in dB of squared errors of values 0-255, capped at `MAX_PSNR_DB`."""
    return (20 * torch.log10(255 / mse.double().sqrt())).clamp(max=MAX_PSNR_DB)


def mean_psnr(statistics: FrameStatistics) -> HorizonValues:
    """Mean PSNR in dB, 0 to 60, of ``statistics [B, T]`` with group ``squared_error``."""
    squared_error_sum = statistics.require("squared_error_sum")
    pooled_mse, mse = pooled_ratio(squared_error_sum, statistics.num_values)
    step = psnr_of_mse(mse)
    return HorizonValues(prefix_mean(step), step, {"psnr_of_mean_mse": psnr_of_mse(pooled_mse)})


class MeanPsnr(HorizonMetric):
    """Mean over steps of the frames' PSNR, in dB, capped at 60."""

    name = "psnr"
    metric_id = "psnr/mean-of-steps-1.0"
    unit = "dB"
    higher_is_better = True
    statistics = frozenset({"squared_error"})

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `mean_psnr`."""
        return mean_psnr(statistics)
