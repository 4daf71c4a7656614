"""Composites that worldbench's own tests and files state."""

from __future__ import annotations

from collections.abc import Iterator

from wbgpu.aggregate.composite import composite
from wbgpu.records.conformance import KnownValue
from wbgpu.records.profile import Profile

_THREE = {"visual_similarity": 0.25, "action_consistency": 0.30, "temporal_stability": 0.20}


def score_values() -> Iterator[KnownValue]:
    """Weighted means of scores, with and without one that is unavailable."""
    for scores, expected in (((80.0, None, 60.0), 640 / 9), ((80.0, 50.0, 60.0), 188 / 3)):
        named = dict(zip(_THREE, scores, strict=True))
        shown = ", ".join("N/A" if score is None else f"{score:g}" for score in scores)
        yield KnownValue(
            f"composite of visual, action and temporal scores {shown}",
            "worldbench 0.4.1, weights 0.25, 0.30, 0.20",
            "score",
            expected,
            composite(named, _THREE) or 0.0,
            1e-9,
        )
    weights = Profile().configured_weights
    video = ("visual_similarity", "temporal_stability")
    yield KnownValue(
        "weight of what a plain video pair supports",
        "worldbench 0.4.1",
        "1",
        0.45,
        sum(weights[name] for name in video) / sum(weights.values()),
        1e-12,
    )
