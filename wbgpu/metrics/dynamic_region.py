"""Errors where something moves: squared error, PSNR and SSIM over the dynamic region.

A still camera makes copying the last context frame look excellent. The dynamic region of step t is
where abs(target_t - last context frame) exceeds 16 of 255 in any channel, so a still background
does not count. A prefix pools its steps: sums over all their dynamic pixels, then the ratio, so a
step with a larger region weighs more. PSNR is of the pooled squared error, at most 60 dB. SSIM is
the mean of the uniform 7x7 SSIM map (see visual_similarity) at windows whose centre is in the
region.
No other tool computes these. Detail of each: ``area_fraction``, the region's share of the pixels.
"""

from __future__ import annotations

from torch import Tensor

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.metrics.psnr import psnr_of_mse
from wbgpu.statistics import FrameStatistics

_NUM_CHANNELS = 3


def dynamic_mse(statistics: FrameStatistics) -> HorizonValues:
    """Squared error per dynamic pixel and channel of ``statistics [B, T]``; NaN where none is."""
    area = statistics.require("dynamic_area")
    squared_error_sum = statistics.require("dynamic_squared_error_sum")
    prefix, step = pooled_ratio(squared_error_sum, _NUM_CHANNELS * area)
    return HorizonValues(prefix, step, {"area_fraction": _area_fraction(statistics)})


def dynamic_psnr(statistics: FrameStatistics) -> HorizonValues:
    """PSNR in dB of `dynamic_mse`, at most 60."""
    values = dynamic_mse(statistics)
    return HorizonValues(psnr_of_mse(values.prefix), psnr_of_mse(values.step), values.details)


def dynamic_ssim(statistics: FrameStatistics) -> HorizonValues:
    """Mean SSIM, -1 to 1, of windows centred in the dynamic region; NaN where none is."""
    count = statistics.require("dynamic_ssim_count")
    prefix, step = pooled_ratio(statistics.require("dynamic_ssim_sum"), count)
    return HorizonValues(prefix, step, {"area_fraction": _area_fraction(statistics)})


def _area_fraction(statistics: FrameStatistics) -> Tensor:
    num_pixels = statistics.num_values // _NUM_CHANNELS
    return pooled_ratio(statistics.require("dynamic_area"), num_pixels)[0]


class _DynamicRegionMetric(HorizonMetric):
    statistics = frozenset({"dynamic_region"})
    undefined_reason = "Nothing has moved away from the last context frame so far."

    def unsupported_reason(self, statistics: FrameStatistics) -> str:
        """Either there is no context frame or nothing moves."""
        if not bool(statistics.require("has_context").any()):
            return "There is no context frame to tell what moves."
        return "Nothing moves away from the last context frame."


class DynamicMse(_DynamicRegionMetric):
    """Mean squared error over the dynamic region, in squared intensity levels."""

    name = "dynamic_mse"
    metric_id = "dynamic_mse/wbgpu-1.0"
    unit = "squared intensity"
    higher_is_better = False

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `dynamic_mse`."""
        return dynamic_mse(statistics)


class DynamicPsnr(_DynamicRegionMetric):
    """PSNR of the pooled squared error over the dynamic region, in dB, capped at 60."""

    name = "dynamic_psnr"
    metric_id = "dynamic_psnr/of-pooled-mse-1.0"
    unit = "dB"
    higher_is_better = True

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `dynamic_psnr`."""
        return dynamic_psnr(statistics)


class DynamicSsim(_DynamicRegionMetric):
    """Mean SSIM of windows centred in the dynamic region."""

    name = "dynamic_ssim"
    metric_id = "dynamic_ssim/uniform7-1.0"
    unit = "SSIM"
    higher_is_better = True

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `dynamic_ssim`."""
        return dynamic_ssim(statistics)

    def unsupported_reason(self, statistics: FrameStatistics) -> str:
        """No context, no motion, or motion only where no 7x7 window is centred."""
        if bool((statistics.require("dynamic_area") > 0).any()):
            return "No 7x7 window of SSIM is centred where something moves."
        return super().unsupported_reason(statistics)
