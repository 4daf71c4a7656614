from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from wbgpu.aggregate.detectable_effect import (
    detectable_effect_in_errors,
    minimum_detectable_effect,
    power_of_effect,
    units_to_detect,
)
from wbgpu.aggregate.intervals import mean_interval
from wbgpu.aggregate.paired_sample import PairedSample


@pytest.mark.parametrize("size", [2, 3, 5, 10, 20, 50, 400])
def test_power_is_that_of_the_noncentral_t(size):
    """SciPy's; the normal approximation promises 80 % for ten episodes and gives 70 %."""
    critical = stats.t.ppf(0.975, size - 1)
    effect = detectable_effect_in_errors(size)
    assert stats.nct.sf(critical, size - 1, effect) == pytest.approx(0.8, abs=1e-8)
    for other in (0.0, 1.0, 4.0):
        wanted = stats.nct.sf(critical, size - 1, other)
        assert power_of_effect(other, size, critical) == pytest.approx(wanted, abs=1e-8)


def test_many_episodes_come_close_to_the_textbook_formula():
    """(z_0.975 + z_0.8) s / sqrt(n) (Cohen 1988)."""
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert detectable_effect_in_errors(5000) == pytest.approx(z, rel=1e-3)


def test_an_effect_of_that_size_is_found_in_four_runs_of_five():
    """What the number promises, with SciPy's own paired test on simulated suites of ten."""
    noise = np.random.default_rng(3).normal(0.0, 2.0, (4000, 10))
    printed = np.mean([minimum_detectable_effect(changes.tolist()) for changes in noise[:2000]])
    found = stats.ttest_1samp(noise[2000:] + printed, 0.0, axis=1, alternative="greater")
    assert 0.75 <= (found.pvalue < 0.025).mean() <= 0.85


def test_a_longer_interval_detects_less():
    """The effect must be that of the interval that decides."""
    sample = PairedSample.of(np.random.default_rng(1).exponential(size=10).tolist())
    long, short = (mean_interval(sample, method=m) for m in ("conservative", "student_t"))
    assert minimum_detectable_effect(sample, estimate=long) > minimum_detectable_effect(sample)
    assert minimum_detectable_effect(sample, estimate=short) == pytest.approx(
        minimum_detectable_effect(sample)
    )


@pytest.mark.parametrize(("effect", "deviation"), [(1.0, 1.0), (0.3, 1.0), (2.0, 0.7), (0.05, 1.5)])
def test_units_to_detect_are_the_least_that_do(effect, deviation):
    units = units_to_detect(effect, deviation)
    needed = [detectable_effect_in_errors(n) * deviation / math.sqrt(n) for n in (units, units - 1)]
    assert needed[0] <= effect * (1 + 1e-3)
    assert needed[1] > effect * (1 - 1e-3)


def test_no_number_of_units_decides_what_lies_at_the_margin():
    assert units_to_detect(0.0, 1.0) is None
    assert units_to_detect(1e-9, 1.0) is None
    assert units_to_detect(1e-300, 1.0) is None
    assert units_to_detect(-3.0, 0.0) == 2


def test_one_episode_has_no_spread_and_equal_changes_none():
    """Of one episode nothing can be said; a 0 would promise that everything is seen."""
    assert minimum_detectable_effect([]) is None
    assert minimum_detectable_effect([1.0]) is None
    assert minimum_detectable_effect([1.0, 1.0]) == 0.0
