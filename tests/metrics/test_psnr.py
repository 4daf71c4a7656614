"""PSNR against torchmetrics; the order of aggregation; the cap."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from torchmetrics.functional.image import peak_signal_noise_ratio

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.videos import to_torch, video_strategy
from wbgpu.metrics import MeanPsnr
from wbgpu.metrics.psnr import mean_psnr
from wbgpu.statistics import FrameStatistics


@settings(max_examples=25, deadline=None)
@given(video=video_strategy)
def test_a_step_is_torchmetrics_and_a_prefix_the_mean_of_steps(video):
    """The definition in the card would not be what is computed."""
    target, prediction = to_torch(video[0])[None], to_torch(video[1])[None]
    values = MeanPsnr().horizon_values(episode_statistics(MeanPsnr(), prediction, target))
    expected = []
    for t in range(target.shape[1]):
        x, y = target[:, t].double(), prediction[:, t].double()
        psnr = peak_signal_noise_ratio(y, x, data_range=(0.0, 255.0)).item()
        expected.append(min(psnr, 60.0))
        # torchmetrics takes the logarithm of the data range in float32.
        assert values.step[0, t].item() == pytest.approx(expected[-1], abs=1e-5)
        assert values.prefix[0, t].item() == pytest.approx(sum(expected) / (t + 1), abs=1e-5)


def test_mean_of_psnr_is_not_psnr_of_mean():
    """Errors of 0.5 and 0.1 at range 1: 6.505 dB and 5.229 dB."""
    num_values = torch.full((1, 2), 1000)
    errors = (torch.tensor([[0.5, 0.1]], dtype=torch.float64) * 255**2 * num_values).long()
    values = mean_psnr(FrameStatistics(num_values=num_values, squared_error_sum=errors))
    assert values.prefix[0, 1].item() == pytest.approx(6.505, abs=1e-3)
    assert values.details["psnr_of_mean_mse"][0, 1].item() == pytest.approx(5.229, abs=1e-3)


def test_equal_frames_are_60_db_and_nothing_is_better():
    """A cap for equal frames only would rank one wrong pixel (100 dB) above a perfect frame."""
    target = grey([50], size=64)
    almost = target.clone()
    almost[..., 0, 0] += 1
    for prediction in (target, almost):
        assert MeanPsnr().outcome(episode_statistics(MeanPsnr(), prediction, target)).value == 60.0


def test_zeros_against_the_full_range_is_0_db():
    """A data range of 256, or of 1, shows here."""
    assert MeanPsnr().outcome(episode_statistics(MeanPsnr(), grey([0]), grey([255]))).value == 0.0
