from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from wbgpu.aggregate.max_t import step_down_max_t
from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.aggregate.sign_flip import sign_flip_p_value
from wbgpu.records.evidence import MIN_TESTED_UNITS

RNG = np.random.default_rng(11)
TABLE = RNG.normal(size=(8, 4)) + np.array([1.5, 0.0, 0.8, -0.5])


def _slow(table, alternative):
    """Westfall & Young's step-down algorithm, one pattern after the other."""

    def statistics(rows):
        t = rows.mean(axis=0) / stats.sem(rows, axis=0)
        return np.abs(t) if alternative == "two_sided" else -t

    observed = statistics(table)
    order = np.argsort(-observed)
    counts = np.zeros(len(order))
    patterns = list(product((1.0, -1.0), repeat=len(table)))
    for signs in patterns:
        flipped = statistics(table * np.array(signs)[:, None])
        for place, column in enumerate(order):
            counts[place] += flipped[order[place:]].max() >= observed[column] - 1e-9
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(counts / len(patterns))
    return adjusted


@pytest.mark.parametrize("alternative", ["two_sided", "less"])
def test_step_down_by_a_slow_loop(alternative):
    found = step_down_max_t(TABLE, alternative=alternative)
    assert found.adjusted_p_values == pytest.approx(_slow(TABLE, alternative))
    assert found.means == pytest.approx(TABLE.mean(axis=0))
    assert found.standard_errors == pytest.approx(stats.sem(TABLE, axis=0))
    assert found.statistics == pytest.approx(stats.ttest_1samp(TABLE, 0.0).statistic)


def test_one_column_is_the_sign_flip_test():
    found = step_down_max_t(TABLE[:, :1])
    alone = sign_flip_p_value(PairedSample.of(TABLE[:, 0].tolist()))
    assert found.p_values[0] == found.adjusted_p_values[0] == pytest.approx(alone)


def test_equal_columns_cost_nothing_and_independent_ones_do():
    """Horizons that move together are one test, and Bonferroni would not see it."""
    found = step_down_max_t(np.repeat(TABLE[:, :1], 16, axis=1))
    assert found.adjusted_p_values == pytest.approx(found.p_values)
    others = step_down_max_t(np.column_stack([TABLE[:, :1], RNG.normal(size=(8, 15))]))
    assert others.adjusted_p_values[0] > found.adjusted_p_values[0]


def test_adjusting_never_makes_a_p_value_smaller_nor_changes_the_order():
    found = step_down_max_t(TABLE)
    assert (found.adjusted_p_values >= found.p_values).all()
    order = np.argsort(found.p_values)
    assert (np.diff(found.adjusted_p_values[order]) >= 0).all()


def test_missing_values_are_left_out_and_not_zero():
    """Episodes end at different horizons."""
    table = TABLE.copy()
    table[6:, 1] = np.nan
    found = step_down_max_t(table)
    assert found.num_rows.tolist() == [8, 6, 8, 8]
    assert found.means[1] == pytest.approx(TABLE[:6, 1].mean())
    assert found.standard_errors[1] == pytest.approx(stats.sem(TABLE[:6, 1]))


def test_columns_of_few_units_are_not_tested_and_hide_nothing():
    """Two episodes that agree have a huge t under every other pattern of signs."""
    rare = np.full(8, np.nan)
    rare[: MIN_TESTED_UNITS - 1] = 1.0
    found = step_down_max_t(np.column_stack([TABLE, rare]))
    assert np.isnan(found.adjusted_p_values[4])
    assert found.means[4] == 1.0
    assert found.adjusted_p_values[:4] == pytest.approx(step_down_max_t(TABLE).adjusted_p_values)


def test_columns_without_spread():
    """A constant drop in every episode is as clear as so many episodes allow."""
    constant = np.full((8, 1), -0.3)
    found = step_down_max_t(np.hstack([constant, np.zeros((8, 1))]))
    assert found.adjusted_p_values.tolist() == [2 / 2**8, 1.0]


def test_clusters_are_flipped_as_one():
    """Every episode twice, as its own cluster, is no more evidence than once."""
    twice = step_down_max_t(np.vstack([TABLE, TABLE]), clusters=[*range(8), *range(8)])
    once = step_down_max_t(TABLE)
    assert twice.adjusted_p_values == pytest.approx(once.adjusted_p_values)
    assert twice.standard_errors == pytest.approx(once.standard_errors)


def test_null_values_shift_the_question():
    found = step_down_max_t(TABLE, null=np.array([1.5, 0.0, 0.8, -0.5]))
    moved = step_down_max_t(TABLE - np.array([1.5, 0.0, 0.8, -0.5]))
    assert found.adjusted_p_values == pytest.approx(moved.adjusted_p_values)
    assert found.means == pytest.approx(TABLE.mean(axis=0))


@pytest.mark.parametrize("size", [10, 30])
def test_familywise_error_is_what_is_stated(size):
    """scripts/simulate_gate.py with fewer runs, for horizons that are correlated with 0.9."""
    num_runs = 400
    rng = np.random.default_rng([5, size])
    found = 0
    for run in range(num_runs):
        steps = rng.normal(size=(size, 2, 8))
        for horizon in range(1, 8):
            steps[..., horizon] = (
                0.9 * steps[..., horizon - 1] + np.sqrt(1 - 0.81) * steps[..., horizon]
            )
        tests = step_down_max_t(steps.reshape(size, -1), num_flips=299, seed=run)
        found += (tests.adjusted_p_values <= 0.05).any()
    assert abs(found / num_runs - 0.05) <= 0.01 + 3 * np.sqrt(0.05 * 0.95 / num_runs)


def test_no_columns_are_no_tests():
    """One job of a sweep has no pairs."""
    assert step_down_max_t(np.empty((5, 0))).adjusted_p_values.shape == (0,)
