"""The Gaussian-window SSIM against scikit-image, and apart from the other definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.metrics.frame_videos import episode_statistics, grey
from tests.oracles.frame_pairs import adversarial_pairs, gaussian_ssim, uniform_ssim
from tests.oracles.videos import to_torch
from wbgpu.metrics import SsimWang2004, VisualSimilarity


def test_prefixes_are_means_of_scikit_images_values():
    """Values under this id would not be comparable with published ones."""
    pairs = list(adversarial_pairs(24, 30).values())
    target, prediction = (to_torch(np.stack(frames))[None] for frames in zip(*pairs, strict=True))
    metric = SsimWang2004()
    values = metric.horizon_values(episode_statistics(metric, prediction, target))
    expected = [gaussian_ssim(x, y) for x, y in pairs]
    assert values.step[0].tolist() == pytest.approx(expected, abs=1e-6)
    means = [np.mean(expected[: t + 1]) for t in range(len(expected))]
    assert values.prefix[0].tolist() == pytest.approx(means, abs=1e-6)


def test_three_definitions_of_one_pair_each_under_its_own_id():
    """Definitions differ by more than rounding, so sharing an id would compare apples and pears."""
    from worldbench.metrics.visual import _fallback_ssim

    x, y = adversarial_pairs(40, 40)["natural"]
    frames = to_torch(y)[None, None], to_torch(x)[None, None]
    expected = {
        "ssim/wang2004": gaussian_ssim(x, y),
        "visual_similarity/worldbench-1.0": uniform_ssim(x, y),
        "visual_similarity/worldbench-1.0-luma": _fallback_ssim(
            x.astype(np.float32), y.astype(np.float32)
        ),
    }
    gaussian = SsimWang2004()
    got = {gaussian.metric_id: gaussian.outcome(episode_statistics(gaussian, *frames)).value}
    for metric in (VisualSimilarity(), VisualSimilarity(ssim="luma")):
        outcome = metric.outcome(episode_statistics(metric, *frames))
        got[metric.metric_id] = outcome.prefix_details["ssim"][0]
    assert got == pytest.approx(expected, abs=1e-6)
    values = sorted(got.values())
    assert min(b - a for a, b in pairwise(values)) > 1e-4


def test_small_frames_are_unsupported_with_a_reason():
    """No window fits: neither a zero nor a NaN may enter a mean."""
    metric = SsimWang2004()
    frames = grey([1, 2], size=10)
    outcome = metric.outcome(episode_statistics(metric, frames, frames))
    assert outcome.status == "unsupported"
    assert "11x11" in outcome.reason
    metric.update(frames, frames)
    assert torch.equal(metric.compute()["prefix_count"], torch.zeros(16, dtype=torch.int64))
