from __future__ import annotations

import numpy as np
import pytest
import torch
from worldbench.metrics import ObjectPermanenceMetric

from tests.oracles.drawn_scenes import SYNTHETIC, peer_result, random_scene, write_images
from wbgpu.metrics import ObjectPermanence, TrackedEpisode
from wbgpu.metrics.prefix_lists import MAX_LISTED_PREFIXES
from wbgpu.records.signals import EpisodeSignals
from wbgpu.tracking import ColourBlobs


def _outcome(frames):
    tracks = ColourBlobs().track(torch.from_numpy(frames).permute(0, 3, 1, 2))
    signals = EpisodeSignals(metadata=SYNTHETIC)
    metric = ObjectPermanence()
    assert metric.refusal(signals) is None
    return metric.outcome(TrackedEpisode({"prediction": tracks}, signals))


def _assert_equal(found, expected):
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-9)
    else:
        assert (list(found) if isinstance(found, tuple) else found) == expected


@pytest.mark.parametrize("seed", range(12))
def test_every_prefix_is_worldbenchs(tmp_path, seed):
    """Against worldbench on each prefix anew: values, reasons and all details."""
    rng = np.random.default_rng(seed)
    frames = random_scene(rng, int(rng.integers(1, 16)))
    if seed % 3 == 0:
        frames[: len(frames) // 2] = 228
    images = write_images(tmp_path / "images", frames)
    outcome = _outcome(frames)
    lacking = outcome.lacking_prefixes(len(frames))
    for index in range(len(frames)):
        expected = peer_result(ObjectPermanenceMetric(), images[: index + 1], [], SYNTHETIC)
        assert outcome.prefix_at(index + 1) == pytest.approx(expected.score, abs=1e-9), index
        assert lacking.get(index + 1) == expected.reason
        if expected.score is not None:
            for key, value in expected.details.items():
                _assert_equal(outcome.prefix_details[key][index], value)
    assert outcome.reason == expected.reason
    assert bool(outcome.issues) == bool(expected.score is not None and expected.issues)


def test_lists_of_a_long_episode_stay_within_bounds():
    """With a list at every prefix, 3,000 frames would make a file of gigabytes."""
    frames = np.concatenate([random_scene(np.random.default_rng(0), 10)] * 30)
    outcome = _outcome(frames)
    lists = [c for c in outcome.prefix_details.values() if any(isinstance(v, tuple) for v in c)]
    assert lists
    for column in lists:
        assert column[MAX_LISTED_PREFIXES - 1] is not None
        assert column[MAX_LISTED_PREFIXES] is None
        assert column[-1] is not None
