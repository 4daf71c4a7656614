"""Frozen, restless and drifting predictions must show; a perfect one must not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.prefix_loops import frame_deltas
from tests.oracles.videos import to_torch, video_strategy
from wbgpu.metrics import TemporalFidelity

METRIC = TemporalFidelity()


def _outcome(prediction, target):
    return METRIC.outcome(episode_statistics(METRIC, prediction, target))


@settings(max_examples=25, deadline=None)
@given(video=video_strategy)
def test_values_are_those_of_a_loop_over_transitions(video):
    """A transition off by one, or one too many, would shift all values."""
    target, prediction, _ = video
    metric_outcome = _outcome(to_torch(prediction)[None], to_torch(target)[None])
    if len(target) == 1:
        assert metric_outcome.status == "unsupported"
        return
    pairs = list(zip(frame_deltas(prediction), frame_deltas(target), strict=True))
    differences = [abs(p - x) for p, x in pairs]
    assert metric_outcome.step[0] is None
    assert metric_outcome.step[1:] == pytest.approx(differences, abs=1e-9)
    for n in range(1, len(target)):
        mean = sum(differences[:n]) / n
        assert metric_outcome.prefix[n] == pytest.approx(mean, abs=1e-9)
        moved = sum(x for _, x in pairs[:n])
        expected = sum(p for p, _ in pairs[:n]) / moved if moved else None
        assert metric_outcome.prefix_details["motion_ratio"][n] == pytest.approx(expected)


def test_a_frozen_prediction_has_no_motion():
    """temporal_stability gives it 100; here it must cost what the target moves."""
    outcome = _outcome(grey([10] * 5), grey([10, 20, 30, 40, 50]))
    assert outcome.value == 10.0
    assert outcome.prefix_details["motion_ratio"][1:] == (0.0,) * 4


def test_a_restless_prediction_has_too_much():
    """Too much motion must cost as too little does."""
    outcome = _outcome(grey([10, 90, 10, 90]), grey([10, 20, 30, 40]))
    assert outcome.value == 70.0
    assert outcome.prefix_details["motion_ratio"][-1] == 8.0


def test_a_perfect_copy_of_a_cut_is_perfect():
    """temporal_stability takes points off a perfect prediction of a cut."""
    video = grey([10, 10, 200, 200])
    outcome = _outcome(video, video)
    assert outcome.value == 0.0
    assert outcome.prefix_details["motion_ratio"][-1] == 1.0


def test_a_slow_brightness_ramp_over_a_still_scene_shows():
    """Half a level a frame for 50 frames; temporal_stability gives it 100."""
    ramp = [100 + t // 2 for t in range(1, 51)]
    outcome = _outcome(grey(ramp), grey([100] * 50))
    assert outcome.value == pytest.approx(25 / 49)
    assert outcome.prefix_details["mean_target_delta"][-1] == 0.0
    assert outcome.prefix_details["motion_ratio"][-1] is None
