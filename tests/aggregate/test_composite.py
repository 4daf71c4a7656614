from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worldbench.runners.evaluator import weighted_score
from worldbench.schemas import MetricResult

from tests.records.results import available, unsupported
from wbgpu.aggregate.composite import composite, prefix_composites
from wbgpu.records.profile import COMPOSITE_METRICS, DEFAULT_WEIGHTS

SCORES = st.dictionaries(st.sampled_from(COMPOSITE_METRICS), st.none() | st.floats(0, 100))
WEIGHTS = st.dictionaries(st.sampled_from(COMPOSITE_METRICS), st.just(0.0) | st.floats(0.01, 10))


def test_p74_only_available_metrics_count(shared: Path) -> None:
    """An unavailable metric counted as 0 would halve most scores."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())
    for scores, wanted in vectors["weighted_score"]:
        found = composite(scores, DEFAULT_WEIGHTS)
        if any(score is not None for score in scores.values()):
            assert found == wanted
        else:
            assert found is None, "worldbench gives 0; no available metric is no score"


@given(SCORES, WEIGHTS)
def test_composite_is_worldbenchs_to_the_last_bit(
    scores: dict[str, float | None], weights: dict[str, float]
) -> None:
    """A sum of floats depends on its order, so ours must follow worldbench's."""
    results = {
        name: MetricResult(name=name, score=s, status="unsupported" if s is None else "available")
        for name, s in scores.items()
    }
    found = composite(scores, weights)
    measured = sum(weights.get(n, 0.0) for n, s in scores.items() if s is not None)
    assert found == (weighted_score(results, weights) if measured else None)


def test_prefix_composites_use_what_each_prefix_has() -> None:
    """A metric that begins at t+2 must not pull t+1 down."""
    metrics = {
        "visual_similarity": available("visual_similarity", [80.0, 60.0, 40.0]),
        "temporal_stability": available("temporal_stability", [None, 90.0, 100.0]),
        "contact_realism": unsupported("contact_realism"),
    }
    weights = {"visual_similarity": 3.0, "temporal_stability": 1.0, "contact_realism": 6.0}
    assert prefix_composites(metrics, weights, 4) == (80.0, 67.5, 55.0, None)


def test_no_weight_is_no_score() -> None:
    """A metric of weight 0 alone must not divide by zero or score 0."""
    assert composite({"visual_similarity": 80.0}, {"visual_similarity": 0.0}) is None
    assert composite({"psnr": 30.0}, DEFAULT_WEIGHTS) is None


@pytest.mark.parametrize("score", [0.0, 100.0])
def test_ends_of_the_scale_are_kept(score: float) -> None:
    """100 * 0.1 / 0.1 must not leave the scale by rounding."""
    assert composite({"visual_similarity": score}, {"visual_similarity": 0.1}) == score
