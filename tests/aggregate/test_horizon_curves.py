from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from tests.conftest import REPOSITORY
from tests.records.golden import result
from tests.records.results import available, episode, suite, unsupported
from wbgpu.aggregate.horizon_curves import horizon_curves, persistence_curves

ARTIFACTS = REPOSITORY / "artifacts/bridge_suite"


def curves(result, source="candidate"):
    found = (
        persistence_curves(result) if source == "persistence" else horizon_curves(result, source)
    )
    return {(c.metric, c.view): c for c in found}


def test_bands_of_means_are_scipys_student_t():
    """A normal quantile, or the population's deviation, makes bands of ten episodes too narrow."""
    values = np.random.default_rng(0).normal(70, 5, (10, 3))
    made = suite(
        [
            episode(f"{i}", [available("visual_similarity", row.tolist())], 3)
            for i, row in enumerate(values)
        ]
    )
    curve = curves(made)["visual_similarity", "prefix"]
    for point, column in zip(curve.points, values.T):
        expected = scipy.stats.t.interval(0.95, 9, column.mean(), scipy.stats.sem(column))
        assert (point.lower, point.upper) == pytest.approx(expected, abs=1e-9)
        assert point.value == pytest.approx(column.mean())


@pytest.mark.parametrize("count", [5, 6, 10, 11, 50, 1000])
def test_bands_of_medians_are_exact_order_statistics(count):
    """They cover the median with 95 % whatever the distribution, as few episodes allow."""
    values = np.random.default_rng(1).exponential(1, count)
    made = suite(
        [
            episode(f"{i:04}", [available("skill_persistence", [v])], 1)
            for i, v in enumerate(values.tolist())
        ]
    )
    (point,) = curves(made)["skill_persistence", "prefix"].points
    if count < 6:
        assert point.lower is None
        return
    rank = sorted(values.tolist()).index(point.lower)
    covers = scipy.stats.binom.cdf(count - rank - 1, count, 0.5) - scipy.stats.binom.cdf(
        rank, count, 0.5
    )
    assert covers >= 0.95
    tighter = scipy.stats.binom.cdf(count - rank - 2, count, 0.5) - scipy.stats.binom.cdf(
        rank + 1, count, 0.5
    )
    assert tighter < 0.95


def test_the_copys_curve_is_that_of_saved_copies():
    """Ten real episodes: what follows from skill and error, and copies scored as predictions."""
    derived = curves(result(ARTIFACTS / "step00900.json"), "persistence")
    scored = curves(result(ARTIFACTS / "copy_last.json"))
    for key in [
        (m, v) for m in ("mse", "psnr", "dynamic_mse", "dynamic_psnr") for v in ("prefix", "step")
    ]:
        for point, other in zip(derived[key].points, scored[key].points, strict=True):
            # The saved copies were compressed.
            tolerance = 0.1 if "psnr" in key[0] else 0.02 * other.value
            assert point.value == pytest.approx(other.value, abs=tolerance)
    assert {p.value for p in derived["skill_persistence", "step"].points} == {0.0}


def test_a_perfect_copy_has_no_error():
    """A skill is undefined there; leaving the episode out would make copies look worse."""
    outcomes = [
        available("skill_persistence", [0.5, 0.5], step=(0.5, None)),
        available("mse", [2.0, 1.5], step=(2.0, 1.0)),
    ]
    other = [unsupported("skill_persistence"), available("mse", [9.0, 9.0], step=(9.0, 9.0))]
    made = suite([episode("a", outcomes), episode("b", other)])
    points = curves(made, "persistence")["mse", "step"].points
    assert [(p.horizon, p.value, p.count) for p in points] == [(1, 4.0, 1), (2, 0.0, 1)]


def test_nothing_is_known_of_copies_without_context():
    made = suite([episode("a", [unsupported("skill_persistence"), available("mse", [1.0, 2.0])])])
    assert curves(made, "persistence") == {}


def test_one_episode_has_no_band():
    made = suite([episode("a", [available("visual_similarity", [60.0, 50.0])])])
    assert [(p.lower, p.upper) for p in curves(made)["visual_similarity", "prefix"].points] == [
        (None, None)
    ] * 2
