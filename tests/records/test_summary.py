from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from worldbench.config import coverage_for
from worldbench.runners.evaluator import numeric_summary

from wbgpu.records.profile import COMPOSITE_METRICS
from wbgpu.records.summary import Coverage, Distribution

NAMES = st.lists(st.sampled_from(COMPOSITE_METRICS), unique=True)


def test_o29_summaries_are_worldbenchs(shared: Path) -> None:
    """Its recorded numbers: population std and linear percentiles."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())
    for values, wanted in vectors["numeric_summary"]:
        found = Distribution.of(values)
        assert ({"count": 0} if found is None else asdict(found)) == wanted


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_summaries_agree_with_worldbench_to_the_last_bit(values: list[float]) -> None:
    """Means are compared with a tolerance of 0.01 points; they must not use it up."""
    found = Distribution.of(values)
    assert found is not None
    assert asdict(found) == numeric_summary(values)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=9), max_size=12))
def test_many_summaries_at_once_have_the_same_bits(samples: list[list[float]]) -> None:
    """A horizon's numbers must not depend on how many other horizons there are."""
    assert Distribution.of_each(samples) == [Distribution.of(values) for values in samples]


def test_p07_p67_coverage_of_a_video_pair(shared: Path) -> None:
    """2 of 5 metrics and 0.45 of the weight; a metric outside the composite covers nothing."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())
    weights = vectors["config"]["weights"]
    found = Coverage.of(
        COMPOSITE_METRICS, weights, ["temporal_stability", "visual_similarity", "psnr"]
    )
    assert found.metric_coverage == 0.4
    assert found.configured_weight_coverage == 0.45
    assert list(found.unsupported_metrics) == vectors["coverage"]["unsupported_metrics"]


@given(NAMES, st.dictionaries(st.sampled_from(COMPOSITE_METRICS), st.floats(0, 5)), NAMES)
def test_coverage_is_worldbenchs(
    configured: list[str], weights: dict[str, float], available: list[str]
) -> None:
    """Gates have minima of coverage."""
    ours, theirs = (
        Coverage.of(configured, weights, available),
        coverage_for(configured, weights, available),
    )
    assert ours.metric_coverage == theirs["metric_coverage"]
    assert ours.configured_weight_coverage == theirs["configured_weight_coverage"]
    assert list(ours.available_metrics) == theirs["available_metrics"]
    assert list(ours.unsupported_metrics) == theirs["unsupported_metrics"]
    assert ours.effective_normalized_weights == theirs["effective_normalized_weights"]
