"""SSIM as first published (Wang et al. 2004): 11x11 Gaussian window, sigma 1.5.

Population covariance, K1 = 0.01, K2 = 0.03, data range 255, windows inside the frame, mean over
windows and channels; a prefix is the mean over its steps.
Matches scikit-image's ``structural_similarity(gaussian_weights=True, sigma=1.5,
use_sample_covariance=False)``; not torchmetrics' default (padded borders) and not the SSIM inside
visual_similarity (uniform 7x7 window).
"""

from __future__ import annotations

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues, prefix_mean
from wbgpu.statistics import FrameStatistics


def ssim_wang2004(statistics: FrameStatistics) -> HorizonValues:
    """SSIM, -1 to 1, of ``statistics [B, T]`` with group ``ssim_gaussian11``."""
    step = statistics.require("ssim_gaussian")
    return HorizonValues(prefix_mean(step), step)


class SsimWang2004(HorizonMetric):
    """Mean over steps of the Gaussian-window SSIM; 1 for equal frames."""

    name = "ssim_wang2004"
    metric_id = "ssim/wang2004"
    unit = "SSIM"
    higher_is_better = True
    statistics = frozenset({"ssim_gaussian11"})
    undefined_reason = "Frames are smaller than the 11x11 window of SSIM."

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `ssim_wang2004`."""
        return ssim_wang2004(statistics)
