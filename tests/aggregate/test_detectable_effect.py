from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from wbgpu.aggregate.detectable_effect import minimum_detectable_effect


def test_it_is_the_textbook_formula() -> None:
    """(z_0.975 + z_0.8) s / sqrt(n); the population's s would be too small."""
    spread = math.sqrt(5.0 / 3.0)
    found = minimum_detectable_effect([-1.0, 0.0, 1.0, 2.0])
    assert found == pytest.approx(2.8015852 * spread / 2.0, rel=1e-6)


def test_an_effect_of_that_size_is_found_in_four_runs_of_five() -> None:
    """What the number promises, with SciPy's own paired test on simulated suites."""
    generator = np.random.default_rng(3)
    noise = generator.normal(0.0, 2.0, (2000, 100))
    effect = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * 2.0 / math.sqrt(100)
    found = stats.ttest_1samp(noise + effect, 0.0, axis=1).pvalue < 0.05
    assert 0.76 <= found.mean() <= 0.84
    measured = [minimum_detectable_effect(changes.tolist()) for changes in noise]
    assert np.mean(measured) == pytest.approx(effect, rel=0.01)


def test_one_episode_has_no_spread_and_equal_changes_none() -> None:
    """Of one episode nothing can be said; a 0 would promise that everything is seen."""
    assert minimum_detectable_effect([]) is None
    assert minimum_detectable_effect([1.0]) is None
    assert minimum_detectable_effect([1.0, 1.0]) == 0.0
