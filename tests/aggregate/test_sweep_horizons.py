from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.aggregate.sweeps import of_psnr
from tests.records.regret_results import regret_result
from tests.records.results import available, episode, simple_suite, suite, unsupported
from wbgpu.aggregate.sweep_horizons import horizon_changes


def test_changes_are_paired_means_and_their_standard_errors():
    """NumPy and scipy on the table of differences."""
    generator = np.random.default_rng(0)
    before, after = generator.uniform(0, 100, (2, 6, 5))
    sides = [
        simple_suite({f"e{i}": list(row) for i, row in enumerate(table)})
        for table in (before, after)
    ]
    changes = horizon_changes(*sides, [f"e{i}" for i in range(6)])
    assert list(changes) == ["composite", "visual_similarity"]
    row = changes["visual_similarity"]
    assert row.changes == pytest.approx((after - before).mean(axis=0), rel=1e-12)
    assert row.standard_errors == pytest.approx(stats.sem(after - before), rel=1e-12)
    assert row.num_episodes == (6,) * 5


def test_only_episodes_with_both_values_count():
    """A pair of which one side is missing is no pair."""

    def side(*prefixes):
        return suite(
            [
                episode(f"e{i}", [available("psnr", prefix, value=1.0)], num_steps=len(prefix))
                for i, prefix in enumerate(prefixes)
            ]
        )

    before = side([None, 1.0, 2.0], [None, 3.0, 4.0], [None, 5.0])
    after = side([1.0, 2.0, 2.5], [1.0, 5.0, 6.5], [1.0, None])
    row = horizon_changes(before, after, ["e0", "e1", "e2"])["psnr"]
    assert row.num_episodes == (0, 2, 2)
    assert row.changes == (None, 1.5, 1.5)


def test_metrics_of_one_side_are_left_out():
    before = suite([episode("e0", [available("psnr", [1.0, 1.0]), available("mse", [1.0, 1.0])])])
    after = of_psnr(0, 20.0).result
    assert list(horizon_changes(before, after, ["e0"])) == ["psnr"]
    nothing = suite([episode("e0", [unsupported("psnr")])])
    assert horizon_changes(nothing, after, ["e0"]) == {}


def test_regret_up_to_a_step_is_per_step():
    """As the report of one result has it."""
    oracle, kt = regret_result("oracle", seeds=range(5)), regret_result("kt", seeds=range(5))
    row = horizon_changes(oracle, kt, [str(seed) for seed in range(5)])["expected_regret"]
    steps = np.array([e.step_expected_regret_nats for e in kt.episodes])
    assert row.changes == pytest.approx(steps.cumsum(axis=1).mean(axis=0) / range(1, 13), abs=1e-12)
    assert not row.higher_is_better


def test_infinite_regret_has_no_change():
    """inf - inf is no number, and JSON has neither."""
    seeds = range(6)
    sides = [regret_result("reckless", seeds=seeds, num_steps=40) for _ in range(2)]
    row = horizon_changes(*sides, [str(seed) for seed in seeds])["regret"]
    assert all(change is None or change == 0 for change in row.changes)
