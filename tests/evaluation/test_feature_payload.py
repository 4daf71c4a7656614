"""Features go through JSON bit for bit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wbgpu.evaluation.feature_payload import features_payload, parse_features
from wbgpu.records.distribution_distance import EpisodeFeatures


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_bit_comes_back(dtype: type) -> None:
    """A resumed run would otherwise have another distance than an uninterrupted one."""
    info = np.finfo(dtype)
    rows = np.array([[0.1, -0.0, info.max], [info.tiny, 1 / 3, info.smallest_subnormal]], dtype)
    features = {"fvd": EpisodeFeatures(rows, rows[::-1]), "fid": EpisodeFeatures(rows, -rows, "no")}
    found = parse_features(json.loads(json.dumps(features_payload(features))))
    assert list(found) == ["fvd", "fid"]
    for name, original in features.items():
        for side in ("target", "prediction"):
            one, other = getattr(found[name], side), getattr(original, side)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
        assert found[name].error == original.error


def test_nothing_is_something() -> None:
    """Features of an episode that an extractor refused."""
    none = np.empty((0, 400), np.float32)
    found = parse_features(features_payload({"fvd": EpisodeFeatures(none, none, "why")}))
    assert found["fvd"].target.shape == (0, 400)
