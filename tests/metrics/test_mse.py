"""Mean squared error against torchmetrics and by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from torchmetrics.functional import mean_squared_error

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.videos import to_torch, video_strategy
from wbgpu.metrics import Mse


@settings(max_examples=25, deadline=None)
@given(video=video_strategy)
def test_every_prefix_is_torchmetrics_on_its_pixels(video):
    """Another normalisation would still look plausible."""
    target, prediction = to_torch(video[0])[None], to_torch(video[1])[None]
    values = Mse().horizon_values(episode_statistics(Mse(), prediction, target))
    for t in range(target.shape[1]):
        x, y = target.double(), prediction.double()
        whole = mean_squared_error(y[:, : t + 1].flatten(), x[:, : t + 1].flatten())
        alone = mean_squared_error(y[:, t].flatten(), x[:, t].flatten())
        assert values.prefix[0, t].item() == pytest.approx(whole.item(), rel=1e-12)
        assert values.step[0, t].item() == pytest.approx(alone.item(), rel=1e-12)


def test_ten_against_eight_is_four_both_ways():
    """Unsigned differences that wrap give 64516 one way."""
    for pair in ((grey([10]), grey([8])), (grey([8]), grey([10]))):
        assert Mse().outcome(episode_statistics(Mse(), *pair)).value == 4.0


def test_batches_of_one_two_and_three_give_the_same_bits():
    """A score must not depend on what else was in the batch."""
    generator = torch.Generator().manual_seed(0)
    target, prediction = torch.randint(0, 256, (2, 3, 1, 3, 9, 9), generator=generator).to(
        torch.uint8
    )
    whole = Mse().horizon_values(episode_statistics(Mse(), prediction, target)).prefix
    for size in (1, 2):
        part = episode_statistics(Mse(), prediction[:size], target[:size])
        assert torch.equal(Mse().horizon_values(part).prefix, whole[:size])


def test_a_slow_brightness_ramp_grows_with_the_horizon():
    """Half a level a frame: neighbours look alike, but the 50th frame is 25 levels off."""
    ramp = [100 + t // 2 for t in range(1, 51)]
    values = Mse().horizon_values(episode_statistics(Mse(), grey(ramp), grey([100] * 50)))
    assert values.step[0, -1] == 25**2
    assert bool((values.prefix[0].diff() >= 0).all())
