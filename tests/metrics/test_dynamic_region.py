"""Dynamic-region metrics against loops over pixels, and what a still background does to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.frame_loops import dynamic_pixels, dynamic_statistics
from tests.oracles.videos import EVENTS, make_video, to_torch
from wbgpu.metrics import DynamicMse, DynamicPsnr, DynamicSsim, Mse

METRICS = (DynamicMse(), DynamicPsnr(), DynamicSsim())


def _outcome(metric, prediction, target, context):
    return metric.outcome(episode_statistics(metric, prediction, target, context))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 999), event=st.sampled_from(EVENTS))
def test_prefixes_pool_the_dynamic_pixels_of_their_steps(seed, event):
    """A mean of the steps' means would weigh a step of one pixel like a full one."""
    target, prediction, context = make_video(seed, event, 3, 9, 10)
    frames = to_torch(prediction)[None], to_torch(target)[None], to_torch(context)[None]
    rows = [dynamic_statistics(x, y, context) for x, y in zip(target, prediction, strict=True)]
    outcomes = {metric.name: _outcome(metric, *frames) for metric in METRICS}
    for t in range(1, 4):
        pooled = {name: sum(row[name] for row in rows[:t]) for name in rows[0]}
        if not pooled["dynamic_area"]:
            continue
        mse = pooled["dynamic_squared_error_sum"] / (3 * pooled["dynamic_area"])
        psnr = min(60.0, 10 * math.log10(255**2 / mse)) if mse else 60.0
        assert outcomes["dynamic_mse"].prefix[t - 1] == pytest.approx(mse)
        assert outcomes["dynamic_psnr"].prefix[t - 1] == pytest.approx(psnr)
        fraction = outcomes["dynamic_mse"].prefix_details["area_fraction"][t - 1]
        assert fraction == pytest.approx(pooled["dynamic_area"] / (t * 90))
        if pooled["dynamic_ssim_count"]:
            ssim = pooled["dynamic_ssim_sum"] / pooled["dynamic_ssim_count"]
            assert outcomes["dynamic_ssim"].prefix[t - 1] == pytest.approx(ssim, abs=1e-6)


def test_a_frozen_prediction_looks_worse_where_something_moves():
    """What the metric is for: the still background must not help."""
    target, prediction, context = make_video(1, "frozen", 4, 16, 20)
    frames = to_torch(prediction)[None], to_torch(target)[None], to_torch(context)[None]
    everywhere = Mse().outcome(episode_statistics(Mse(), *frames)).value
    assert _outcome(DynamicMse(), *frames).value > 5 * everywhere


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_still_scene_and_a_missing_context_are_unsupported_with_their_reasons(metric):
    """Nothing to measure is not a perfect error of 0."""
    still = grey([10, 10])
    outcome = _outcome(metric, still, still, still[:, 0])
    assert outcome.status == "unsupported"
    assert "moves" in outcome.reason
    outcome = _outcome(metric, still, grey([90, 90]), None)
    assert outcome.status == "unsupported"
    assert "no context frame" in outcome.reason


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_defined_from_the_first_step_that_moves(metric):
    """Horizons before it have a reason, later ones a value."""
    outcome = _outcome(metric, grey([10, 10, 90]), grey([10, 10, 90]), grey([10])[:, 0])
    assert outcome.prefix[:2] == (None, None)
    assert outcome.prefix[2] is not None
    assert [reason is None for reason in outcome.prefix_reasons] == [False, False, True]


def test_the_threshold_is_sixteen_in_any_channel():
    """16 or more, or a mean of channels, would select other pixels under the same id."""
    context = np.full((8, 8, 3), 100, np.uint8)
    target = context.copy()
    target[0, 0] = [116, 84, 100]
    target[1, 1] = [100, 100, 117]
    target[2, 2] = [83, 100, 100]
    assert dynamic_pixels(target, context) == {(1, 1), (2, 2)}
    frames = to_torch(target)[None, None]
    outcome = _outcome(DynamicMse(), frames, frames, to_torch(context)[None])
    assert outcome.prefix_details["area_fraction"] == (2 / 64,)


def test_motion_at_the_border_alone_has_no_ssim_window():
    """The reason must be the border, not that nothing moves."""
    context = torch.zeros((1, 3, 8, 8), dtype=torch.uint8)
    target = context.clone()[:, None]
    target[..., 0, 0] = 200
    assert _outcome(DynamicMse(), target, target, context).value == 0.0
    outcome = _outcome(DynamicSsim(), target, target, context)
    assert outcome.status == "unsupported"
    assert "window" in outcome.reason
