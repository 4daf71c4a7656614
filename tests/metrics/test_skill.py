"""Skill is a ratio of sums against the last context frame."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.frame_loops import squared_error_sum
from tests.oracles.videos import make_video, to_torch, video_strategy
from wbgpu.metrics import SkillPersistence, SkillPersistenceDynamic

METRICS = (SkillPersistence(), SkillPersistenceDynamic())


def _outcome(metric, prediction, target, context):
    return metric.outcome(episode_statistics(metric, prediction, target, context))


@settings(max_examples=15, deadline=None)
@given(video=video_strategy)
def test_a_prefix_is_one_minus_the_ratio_of_its_sums(video):
    """Against a loop over pixels; also where the copy is perfect so far."""
    target, prediction, context = video
    frames = to_torch(prediction)[None], to_torch(target)[None], to_torch(context)[None]
    outcome = _outcome(SkillPersistence(), *frames)
    errors = [squared_error_sum(x, y) for x, y in zip(target, prediction, strict=True)]
    copies = [squared_error_sum(x, context) for x in target]
    if not sum(copies):
        assert outcome.status == "unsupported"
        return
    for t in range(len(target)):
        if copies[t]:
            assert outcome.step[t] == pytest.approx(1 - errors[t] / copies[t])
        total = sum(copies[: t + 1])
        expected = 1 - sum(errors[: t + 1]) / total if total else None
        assert outcome.prefix[t] == pytest.approx(expected)


def test_a_prefix_is_not_the_mean_of_its_steps():
    """Steps of skill 0.75 and -8 pool to 1 - (100 + 900) / (400 + 100)."""
    outcome = _outcome(SkillPersistence(), grey([30, 40]), grey([20, 10]), grey([0])[:, 0])
    assert outcome.step == (0.75, -8.0)
    assert outcome.prefix == (0.75, -1.0)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_perfect_is_one_and_the_copy_is_zero(metric):
    """The scale's two fixed points; without them a sign has no meaning."""
    target, _, context = make_video(0, "perfect", 4, 10, 12)
    target, context = to_torch(target)[None], to_torch(context)[None]
    assert _outcome(metric, target, target, context).value == 1.0
    copy = context[:, None].expand_as(target)
    assert _outcome(metric, copy, target, context).value == 0.0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_unsupported_where_the_copy_is_perfect_or_missing(metric):
    """A zero or an infinity there would dominate the mean over episodes."""
    still = grey([10, 10])
    outcome = _outcome(metric, grey([11, 12]), still, still[:, 0])
    assert (outcome.status, outcome.value) == ("unsupported", None)
    assert outcome.reason
    outcome = _outcome(metric, still, grey([90, 90]), None)
    assert outcome.reason == "There is no context frame to copy."


def test_noise_in_the_background_only_hurts_the_skill_of_the_whole_frame():
    """The dynamic variant must not see pixels outside the region."""
    target, prediction, context = make_video(2, "perfect", 4, 12, 12)
    prediction[:, 6:] ^= 3  # the moving square is in rows 1 to 3
    frames = to_torch(prediction)[None], to_torch(target)[None], to_torch(context)[None]
    whole, dynamic = (_outcome(metric, *frames).value for metric in METRICS)
    assert dynamic == 1.0
    assert whole < 1.0
