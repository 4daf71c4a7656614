"""Visual similarity, worldbench's blend of squared error, PSNR and SSIM.

Per step: mse over H, W, C; psnr = 20 log10(255 / sqrt(mse)), 60 dB where mse <= 1e-9; ssim with a
uniform 7x7 window (scikit-image's default). Over the steps of a prefix the arithmetic means of the
three, then::

    score = 0.35 * 100 (1 - mse / 255^2) + 0.30 * 100 (psnr / 40) + 0.35 * 100 ssim

with each of the three parts clamped to 0..100.
Matches worldbench 0.4.1 with scikit-image installed. With ``ssim="luma"`` it matches worldbench
without scikit-image, under an id of its own; worldbench switches silently, this does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor

from wbgpu.errors import ConfigurationError
from wbgpu.metrics.episode_metric import OptionalNumbers
from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.horizon_values import HorizonValues, prefix_mean
from wbgpu.metrics.pooled_ratio import pooled_ratio
from wbgpu.records.metric import SCORE_UNIT, MetricOutcome
from wbgpu.statistics import FrameStatistics

_EQUAL_FRAMES_MSE = 1e-9
_EQUAL_FRAMES_PSNR_DB = 60.0
_POOR_SCORE = 60.0
_POOR_SSIM = 0.75

SsimKind = Literal["uniform7", "luma"]


def visual_similarity(statistics: FrameStatistics, ssim: SsimKind = "uniform7") -> HorizonValues:
    """Score 0-100 of ``statistics [B, T]``.

    Args:
        statistics: with groups ``squared_error`` and ``ssim_uniform7`` or ``luma_moments``.
        ssim: which of the two enters.

    Returns:
        NaN where SSIM is not defined. Details, by prefix: ``mse``, ``psnr`` (dB), ``ssim`` and
        their parts of the score, ``mse_score``, ``psnr_score``, ``ssim_score`` (0-100 each).
    """
    mean_mse, mse = pooled_ratio(statistics.require("squared_error_sum"), statistics.num_values)
    equal = mse <= _EQUAL_FRAMES_MSE
    psnr = 20 * torch.log10(255 / mse.clamp(min=_EQUAL_FRAMES_MSE).sqrt())
    psnr = torch.where(equal, torch.full_like(psnr, _EQUAL_FRAMES_PSNR_DB), psnr)
    similarity = statistics.require("ssim" if ssim == "uniform7" else "luma_ssim")
    mean_psnr, mean_similarity = prefix_mean(psnr), prefix_mean(similarity)
    prefix, parts = _score(mean_mse, mean_psnr, mean_similarity)
    step, _ = _score(mse, psnr, similarity)
    details = {"mse": mean_mse, "psnr": mean_psnr, "ssim": mean_similarity}
    return HorizonValues(prefix, step, details | parts)


def _score(mse: Tensor, psnr: Tensor, ssim: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    mse_score = (100 * (1 - mse / 255**2)).clamp(0, 100)
    psnr_score = (100 * (psnr / 40)).clamp(0, 100)
    ssim_score = (100 * ssim).clamp(0, 100)
    score = (0.35 * mse_score + 0.30 * psnr_score + 0.35 * ssim_score).clamp(0, 100)
    return score, {"mse_score": mse_score, "psnr_score": psnr_score, "ssim_score": ssim_score}


def visual_similarity_issues(score: float, ssim: float) -> tuple[str, ...]:
    """Remarks on an episode, under worldbench's conditions.

    Args:
        score: 0-100.
        ssim: mean over the episode's steps.
    """
    if score < _POOR_SCORE:
        return (f"Score below {_POOR_SCORE:g}: predicted frames differ strongly.",)
    if ssim < _POOR_SSIM:
        return (f"Mean SSIM below {_POOR_SSIM:g}: colours agree, structure does not.",)
    return ()


class VisualSimilarity(HorizonMetric):
    """Worldbench's visual similarity, 0-100.

    Args:
        num_horizons: see `HorizonMetric`.
        ssim: ``uniform7``, or ``luma`` for the id ``visual_similarity/worldbench-1.0-luma``.
    """

    name = "visual_similarity"
    metric_id = "visual_similarity/worldbench-1.0"
    unit = SCORE_UNIT
    higher_is_better = True
    statistics = frozenset({"squared_error", "ssim_uniform7"})
    undefined_reason = "Frames are smaller than the 7x7 window of SSIM."

    def __init__(
        self, num_horizons: int = 16, *, ssim: SsimKind = "uniform7", **arguments: Any
    ) -> None:
        if ssim not in ("uniform7", "luma"):
            raise ConfigurationError(f"ssim: expected 'uniform7' or 'luma', got {ssim!r}")
        if ssim == "luma":
            self.metric_id = "visual_similarity/worldbench-1.0-luma"
            self.statistics = frozenset({"squared_error", "luma_moments"})
        super().__init__(num_horizons, **arguments)
        self.ssim = ssim

    def episode_values(self, statistics: FrameStatistics) -> HorizonValues:
        """See `visual_similarity`."""
        return visual_similarity(statistics, self.ssim)

    def episode_outcome(
        self,
        statistics: FrameStatistics,
        prefix: OptionalNumbers,
        step: OptionalNumbers,
        details: Mapping[str, tuple[Any, ...]],
    ) -> MetricOutcome:
        """The record of one episode, with a remark where it is poor."""
        outcome = super().episode_outcome(statistics, prefix, step, details)
        if outcome.value is None:
            return outcome
        ssim = outcome.prefix_details["ssim"][-1]
        return replace(outcome, issues=visual_similarity_issues(outcome.value, ssim))
