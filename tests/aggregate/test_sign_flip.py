from __future__ import annotations

from itertools import islice, product

import numpy as np
import pytest
from scipy import stats

from wbgpu.aggregate.paired_sample import PairedSample
from wbgpu.aggregate.sign_flip import sign_flip_p_value, sign_patterns
from wbgpu.errors import ConfigurationError

CHANGES = [0.5, -1.25, 3.0, 0.25, 2.5, -0.75, 1.0]


@pytest.mark.parametrize("alternative", ["two_sided", "less", "greater"])
@pytest.mark.parametrize("null", [0.0, 0.4])
def test_exact_by_a_slow_loop(alternative, null):
    shifted = [change - null for change in CHANGES]
    observed, count = sum(shifted), 0
    for signs in product((1, -1), repeat=len(shifted)):
        total = sum(s * c for s, c in zip(signs, shifted, strict=True))
        if alternative == "two_sided":
            count += abs(total) >= abs(observed) - 1e-12
        else:
            sign = 1 if alternative == "greater" else -1
            count += sign * total >= sign * observed - 1e-12
    found = sign_flip_p_value(PairedSample.of(CHANGES), alternative=alternative, null=null)
    assert found == count / 2**7


@pytest.mark.parametrize("size", [5, 12, 16])
def test_exact_is_scipys_permutation_test(size):
    values = np.random.default_rng(size).normal(0.4, 1.0, size)
    wanted = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    ).pvalue
    assert sign_flip_p_value(PairedSample.of(values.tolist())) == pytest.approx(wanted, abs=1e-12)


def test_many_units_are_drawn_and_never_give_zero():
    """A p-value of 0 would promise more than was looked at."""
    clear = [1.0 + 0.01 * i for i in range(40)]
    assert sign_flip_p_value(PairedSample.of(clear), num_flips=999) == 1 / 1000
    values = np.random.default_rng(1).normal(0.2, 1.0, 40)
    found = sign_flip_p_value(PairedSample.of(values.tolist()), num_flips=20_000)
    assert found == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue, abs=0.02)


def test_signs_are_flipped_by_cluster():
    """Two episodes of one scene are one coin."""
    twice = PairedSample.of(CHANGES * 2, list(range(7)) * 2)
    assert sign_flip_p_value(twice) == sign_flip_p_value(PairedSample.of(CHANGES))


def test_no_change_is_no_evidence():
    assert sign_flip_p_value(PairedSample.of([0.0, 0.0, 0.0])) == 1.0


def test_paired_data_is_tested_as_paired():
    """lm-eval-harness #3831 and inspect_ai #4206: unpaired .080 became .008 when paired."""
    generator = np.random.default_rng(4)
    level = generator.normal(0.0, 3.0, 16)
    before, after = level + generator.normal(0, 0.5, 16), level + generator.normal(0.5, 0.5, 16)
    unpaired = stats.ttest_ind(before, after).pvalue
    assert sign_flip_p_value(PairedSample.of((after - before).tolist())) < 0.01 < unpaired


@pytest.mark.parametrize("arguments", [{"alternative": "more"}, {"num_flips": 0}])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(ConfigurationError, match="expected"):
        sign_flip_p_value(PairedSample.of(CHANGES * 3), **arguments)


def test_patterns_of_many_units_are_never_all_there_at_once():
    """Ten thousand patterns of a million units would be 80 GB."""
    pieces = list(islice(sign_patterns(1_000_000, 9999, seed=0), 3))
    assert (pieces[0] == 1).all()
    assert max(len(piece) for piece in pieces) <= 2
