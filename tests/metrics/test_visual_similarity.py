"""visual_similarity against worldbench itself, prefix by prefix."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.videos import to_torch, video_strategy
from tests.oracles.worldbench_prefixes import worldbench_prefixes
from wbgpu.errors import ConfigurationError
from wbgpu.metrics import VisualSimilarity
from wbgpu.metrics.visual_similarity import visual_similarity_issues


def _outcome(metric, target, prediction):
    frames = to_torch(prediction)[None], to_torch(target)[None]
    return metric.outcome(episode_statistics(metric, *frames))


def _check_against_worldbench(metric, target, prediction):
    with TemporaryDirectory() as folder:
        expected = worldbench_prefixes(Path(folder), target, prediction)["visual_similarity"]
    outcome = _outcome(metric, target, prediction)
    assert outcome.prefix == pytest.approx([result.score for result in expected], abs=1e-5)
    for t, result in enumerate(expected):
        details = {k: column[t] for k, column in outcome.prefix_details.items()}
        reference = {k: result.details[k] for k in ("mse", "psnr", "ssim")}
        reference |= result.details["components"]
        assert details == pytest.approx(reference, rel=3e-7, abs=1e-5)
    assert outcome.value == outcome.prefix[-1]
    assert bool(outcome.issues) == bool(expected[-1].issues)


@settings(max_examples=25, deadline=None)
@given(video=video_strategy)
def test_every_prefix_is_worldbenchs(video):
    """The id promises worldbench's numbers, at every horizon."""
    _check_against_worldbench(VisualSimilarity(), video[0], video[1])


@settings(max_examples=15, deadline=None)
@given(video=video_strategy)
def test_the_luma_variant_is_worldbench_without_scikit_image(video):
    """Results from such an installation could not be compared."""
    import worldbench.metrics.visual as peer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer, "_ssim", peer._fallback_ssim)
        _check_against_worldbench(VisualSimilarity(ssim="luma"), video[0], video[1])


def test_recorded_values_of_worldbench(shared):
    """The 60 dB rule is for equal frames only: one level in one value is above 60 dB."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())["psnr"]
    target, metric = grey([7], size=16), VisualSimilarity()
    equal = metric.outcome(episode_statistics(metric, target, target))
    assert equal.prefix_details["psnr"] == (dict(map(tuple, vectors))[0.0],)
    almost = target.clone()
    almost[0, 0, 0, 0, 0] += 1
    outcome = metric.outcome(episode_statistics(metric, almost, target))
    assert outcome.prefix_details["psnr"][0] > 70
    assert outcome.prefix_details["psnr_score"] == (100.0,)


def test_black_against_white_is_not_worth_much_but_not_nothing():
    """A part that is clamped wrongly gives 0, or far more."""
    metric = VisualSimilarity()
    outcome = metric.outcome(episode_statistics(metric, grey([0]), grey([255])))
    assert outcome.value == pytest.approx(35 * 9.99900e-05, abs=1e-4)
    assert outcome.issues


def test_remarks_are_made_under_worldbenchs_conditions():
    """A remark on every episode, or on none, would say nothing; these are the limits."""
    assert visual_similarity_issues(60.0, 0.75) == ()
    (poor,) = visual_similarity_issues(59.99, 0.1)
    assert "60" in poor
    (structure,) = visual_similarity_issues(60.0, 0.74)
    assert "SSIM below 0.75" in structure


@pytest.mark.parametrize("size", [5, 6])
def test_frames_under_seven_pixels_are_unsupported_with_a_reason(size):
    """worldbench switches silently to another statistic there."""
    frames = grey([1, 2], size=size)
    outcome = VisualSimilarity().outcome(episode_statistics(VisualSimilarity(), frames, frames))
    assert outcome.status == "unsupported"
    assert outcome.value is None
    assert "7x7" in outcome.reason
    luma = VisualSimilarity(ssim="luma")
    assert luma.outcome(episode_statistics(luma, frames, frames)).value == 100.0


def test_an_unknown_ssim_is_named():
    """A typing error would silently score another definition."""
    with pytest.raises(ConfigurationError, match="'gaussian'"):
        VisualSimilarity(ssim="gaussian")


def test_the_kind_of_ssim_is_given_by_name():
    """By position it would land in statistics_path of every other metric."""
    with pytest.raises(TypeError, match="positional"):
        VisualSimilarity(16, "luma")
