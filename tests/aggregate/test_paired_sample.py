from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.errors import ConfigurationError

CHANGES = [0.5, -1.25, 3.0, 0.0, 2.5, -0.75]


def test_without_clusters_it_is_the_standard_error_of_a_mean():
    """SciPy's; the population's deviation would promise too much."""
    sample = PairedSample.of(CHANGES)
    assert sample.mean == pytest.approx(np.mean(CHANGES))
    assert sample.standard_error == pytest.approx(stats.sem(CHANGES))
    assert (sample.num_episodes, sample.num_units) == (6, 6)


def test_equal_clusters_are_as_good_as_their_means():
    """Twice as many episodes of the same scenes are no more evidence."""
    clusters = ["a", "b", "c", "a", "b", "c"]
    sample = PairedSample.of(CHANGES, clusters)
    means = [(CHANGES[i] + CHANGES[i + 3]) / 2 for i in range(3)]
    assert sample.mean == pytest.approx(np.mean(CHANGES))
    assert sample.standard_error == pytest.approx(stats.sem(means))
    assert (sample.num_episodes, sample.num_units) == (6, 3)


def test_a_copy_of_every_episode_changes_nothing_when_it_is_a_cluster():
    twice = PairedSample.of(CHANGES * 2, list(range(6)) * 2)
    once = PairedSample.of(CHANGES)
    assert twice.standard_error == pytest.approx(once.standard_error)
    assert twice.unit_deviation == pytest.approx(once.unit_deviation)


def test_clusters_of_other_sizes_by_a_slow_loop():
    """The ratio's linearisation as the definition reads, scaled by what matrices say it is on
    average where each cluster moves as one."""
    clusters = ["a", "a", "a", "b", "c", "c"]
    mean = sum(CHANGES) / 6
    squares = 0.0
    for name in "abc":
        members = [c for c, of in zip(CHANGES, clusters, strict=True) if of == name]
        squares += (sum(members) - len(members) * mean) ** 2
    counts = np.array([3.0, 1.0, 2.0])
    residual = np.eye(3) - np.outer(counts, np.ones(3)) / 6
    covariance = residual @ np.diag(counts**2) @ residual.T
    expected = math.sqrt((counts**2).sum() / np.trace(covariance) * squares) / 6
    sample = PairedSample.of(CHANGES, clusters)
    assert sample.standard_error == pytest.approx(expected)
    degrees = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    assert sample.degrees_of_freedom == pytest.approx(degrees)


def test_clusters_of_equal_sizes_have_the_usual_degrees_of_freedom():
    assert PairedSample.of(CHANGES, ["a", "a", "b", "b", "c", "c"]).degrees_of_freedom == 2.0
    assert PairedSample.of(CHANGES).degrees_of_freedom == 5.0
    assert PairedSample.of([1.0]).degrees_of_freedom == 0.0


@given(st.floats(-1e6, 1e6), st.integers(2, 30))
def test_equal_changes_have_no_spread_at_all(value, count):
    """Rounding must not look like evidence: a gate would divide by it."""
    assert PairedSample.of([value] * count).standard_error == 0.0


def test_one_unit_has_no_error():
    assert PairedSample.of([1.0]).standard_error is None
    assert PairedSample.of([1.0, 2.0], ["a", "a"]).standard_error is None


@pytest.mark.parametrize(
    ("changes", "clusters"),
    [
        ([], None),
        ([math.nan], None),
        ([1.0, math.inf], None),
        ([1.0, 1e200], None),
        ([1.0, 2.0], ["a"]),
    ],
)
def test_what_cannot_be_weighed_is_refused(changes, clusters):
    """Squares of 1e200 are infinite, and gave intervals without any width."""
    with pytest.raises(ConfigurationError, match="expected"):
        PairedSample.of(changes, clusters)
