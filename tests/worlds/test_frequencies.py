from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wbgpu.worlds.frequencies import LOG_ODDS, _expect_counts


def limit(counts, probabilities):
    """The limit that a comparison states when it fails."""
    with pytest.raises(AssertionError) as raised:
        _expect_counts(np.array(counts), np.array(probabilities), "counts")
    return float(str(raised.value).rpartition("limit ")[2].rstrip(")"))


@pytest.mark.parametrize("num_outcomes", [2, 3, 10, 50])
def test_the_limit_is_rarer_than_stated(num_outcomes):
    """A limit that sound worlds exceed now and then would cry wolf; scipy knows the real tail."""
    counts = [1000 * num_outcomes] + [0] * (num_outcomes - 1)
    stated = limit(counts, [1 / num_outcomes] * num_outcomes)
    assert stats.chi2.sf(stated, num_outcomes - 1) <= np.exp(-LOG_ODDS)
    assert stats.chi2.sf(stated / 2, num_outcomes - 1) > np.exp(-LOG_ODDS), "nor far too wide"


def test_sound_counts_pass_and_shifted_ones_do_not():
    """The power of the check: 5 % moved between two outcomes shows in 4,096 draws."""
    generator = np.random.default_rng(0)
    probabilities = np.array([0.5, 0.3, 0.2])
    for _ in range(200):
        _expect_counts(generator.multinomial(4096, probabilities), probabilities, "counts")
    with pytest.raises(AssertionError, match="chi-square"):
        _expect_counts(np.round(4096 * np.array([0.45, 0.35, 0.2])), probabilities, "counts")


def test_rare_outcomes_count_together():
    """A dozen outcomes of one in a million: none is expected, one is no fault, a hundred are."""
    probabilities = np.array([1 - 12e-6, *[1e-6] * 12])
    _expect_counts(np.array([4095, 1] + [0] * 11), probabilities, "counts")
    mixed = np.array([0.9, 0.09] + [0.001] * 10)
    _expect_counts(np.array([3686, 369] + [4] * 9 + [5]), mixed, "counts")
    with pytest.raises(AssertionError, match="chi-square"):
        _expect_counts(np.array([3586, 369] + [14] * 9 + [15]), mixed, "counts")
