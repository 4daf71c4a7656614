from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, ttest_1samp

from wbgpu.aggregate.degradation import MAX_STANDARDISED, kendall_tau_b, response
from wbgpu.records.corruption import MeasuredMetric

SEVERITIES = (0.0, 0.25, 0.5, 1.0)


def of(*rows, higher_is_better=False):
    return response(MeasuredMetric(tuple(rows)), SEVERITIES, higher_is_better=higher_is_better)


@pytest.mark.parametrize(
    ("row", "verdict", "failures"),
    [
        ((0, 1, 2, 3), "ordered", ()),
        ((0, 1, 1, 3), "level", ()),
        ((0, 2, 1, 3), "misordered", (2,)),
        ((0, 2, 1, 0), "misordered", (2, 3)),
        ((0, 2, -1, 3), "rewarded", (2,)),
        ((0, 0, 0, 0), "blind", ()),
        ((5, 5 + 1e-12, 5 - 1e-12, 5), "blind", ()),
        ((0, 0, 0, 1), "level", ()),
    ],
)
@pytest.mark.parametrize("higher_is_better", [False, True])
def test_verdicts(row, verdict, failures, higher_is_better):
    values = tuple(-float(v) if higher_is_better else float(v) for v in row)
    found = of(values, higher_is_better=higher_is_better)
    assert (found.verdict, found.failures) == (verdict, failures)
    assert found.degradations == pytest.approx([v - row[0] for v in row], abs=1e-11)
    assert found.means == values


def test_a_verdict_is_of_the_mean_and_the_counts_are_of_episodes():
    found = of((0.0, 1.0, 2.0, 3.0), (0.0, 2.0, 1.5, 4.0))
    assert found.verdict == "ordered"
    assert found.num_worse == (0, 2, 2, 2)
    assert found.kendall_tau == pytest.approx((1 + 4 / 6) / 2)


def test_an_episode_that_lacks_a_value_enters_nothing():
    """A mean over other episodes at another severity would be no comparison."""
    found = of((0.0, 1.0, 2.0, 3.0), (9.0, None, 9.0, 9.0))
    assert (found.num_episodes, found.means) == (1, (0.0, 1.0, 2.0, 3.0))
    assert found.standardised == (None,) * 4
    assert found.first_seen is None
    none = of((None, 1.0, 2.0, 3.0))
    assert (none.verdict, none.num_episodes, none.means) == ("unavailable", 0, ())


@pytest.mark.parametrize("seed", range(6))
def test_seen_from_is_a_paired_t_test(seed):
    rows = np.random.default_rng(seed).normal(0, 1, (7, 4)) + np.array([0, 0.3, 0.9, 2.5])
    found = of(*map(tuple, rows.tolist()))
    p_values = [
        ttest_1samp(rows[:, i] - rows[:, 0], 0).pvalue
        if rows[:, i].mean() > rows[:, 0].mean()
        else 1
        for i in (1, 2, 3)
    ]
    seen = [s for s, p in zip(SEVERITIES[1:], p_values) if p < 0.05]
    assert found.first_seen == (seen[0] if seen else None)
    assert found.sees == (bool(seen) and found.verdict == "ordered")
    assert of(*map(tuple, (-rows).tolist())).first_rewarded == found.first_seen
    changes = rows[:, 3] - rows[:, 0]
    assert found.standardised[3] == pytest.approx(changes.mean() / changes.std(ddof=1))


def test_changes_without_spread_are_seen_and_bounded():
    found = of((0.0, 1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 4.0))
    assert found.standardised == (0.0, *[MAX_STANDARDISED] * 3)
    assert found.first_seen == 0.25
    assert found.sensitivity == MAX_STANDARDISED


@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4))
def test_kendall_tau_is_scipys(row):
    expected = kendalltau(SEVERITIES, row).statistic
    found = kendall_tau_b(SEVERITIES, row)
    if found is None:
        assert math.isnan(expected)
    else:
        assert found == pytest.approx(expected)
