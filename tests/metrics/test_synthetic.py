from __future__ import annotations

import pytest

from wbgpu.metrics import ContactRealism, ObjectPermanence
from wbgpu.metrics.synthetic import is_synthetic
from wbgpu.records.signals import EpisodeSignals


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"robot": "synthetic_2d_arm"}, True),
        ({"description": "A Synthetic scene."}, True),
        ({"task": "push (synthetic)"}, True),
        ({"robot": "franka", "task": "pick"}, False),
        ({"description": "not synthetic at all"}, False),
        ({"description": "This is not a synthetic scene"}, False),
        ({"description": "non-synthetic"}, False),
        ({"description": "photosynthetic plants"}, False),
        ({}, False),
    ],
)
def test_only_scenes_that_say_so_are_tracked(metadata, expected):
    """Colour blobs on camera images are numbers about nothing; 'not synthetic' means no."""
    signals = EpisodeSignals(metadata=metadata)
    assert is_synthetic(signals) is expected
    for metric in (ContactRealism(), ObjectPermanence()):
        assert (metric.refusal(signals) is None) is expected
        assert metric.refusal(None) is not None
