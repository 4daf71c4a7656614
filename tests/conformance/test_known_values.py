from __future__ import annotations

import math

import pytest
from scipy import stats

from wbgpu.conformance import statistics_of_changes
from wbgpu.conformance.known_values import known_values
from wbgpu.records.conformance import KnownValue


@pytest.mark.parametrize("value", list(known_values()), ids=lambda value: value.subject)
def test_every_known_value_is_computed(value: KnownValue) -> None:
    """A release that moves a published number must not go out."""
    assert value.agrees, f"expected {value.expected}, got {value.got}"


def test_subjects_are_told_apart() -> None:
    subjects = [value.subject for value in known_values()]
    assert len(set(subjects)) == len(subjects) >= 30


def test_a_value_that_is_off_or_none_does_not_agree() -> None:
    """Otherwise the command could not fail."""
    near = KnownValue("x", "y", "1", 1.0, 1.0 + 2e-6, 1e-6)
    assert not near.agrees
    assert near.difference == pytest.approx(2e-6)
    assert not KnownValue("x", "y", "1", 1.0, math.nan, 1e-6).agrees


def test_the_published_statistics_are_what_scipy_says_too() -> None:
    """The expected side is typed in; a slip there would be taken for ours."""
    interval = stats.ttest_1samp(statistics_of_changes._SLEEP, 0).confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((0.7001142, 2.4598858), abs=5e-8)
    exact = stats.permutation_test(
        (statistics_of_changes._MAIZE,),
        lambda x, axis: x.sum(axis),
        permutation_type="samples",
        n_resamples=math.inf,
    )
    assert exact.pvalue == pytest.approx(1726 / 2**15, abs=1e-12)
