from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from wbgpu.aggregate.e_process import EProcess, sequential_evidence


def _by_integration(differences, null=0.0):
    """The mixture over bets, as the definition reads."""
    shifted = [d - null for d in differences]
    scaled = [
        shifted[i] / math.sqrt(np.mean(np.square(shifted[:i]))) for i in range(1, len(shifted))
    ]

    def product(bet):
        log = sum(bet * z - (bet * z) ** 2 / 2 for z in scaled)
        return math.exp(log) * 2 * stats.norm.pdf(bet)

    return integrate.quad(product, 0, 40, limit=500)[0]


@pytest.mark.parametrize("mean", [-0.5, 0.0, 0.7])
@pytest.mark.parametrize("null", [0.0, 0.2])
def test_it_is_the_mixture_of_bets(mean, null):
    differences = np.random.default_rng(2).normal(mean, 1.0, 12).tolist()
    process = EProcess(null=null)
    for difference in differences:
        process.update(difference)
    assert process.e_value == pytest.approx(_by_integration(differences, null), rel=1e-6)
    assert process.num_episodes == 12


@given(st.floats(0.01, 100.0), st.floats(-3.0, 0.0), st.floats(0.01, 5.0))
def test_a_bet_on_a_symmetric_pair_never_gains_on_average(size, centre, bet):
    """The inequality that makes it an e-value: for z = centre +- size, centre at most 0."""
    mean = np.mean([math.exp(bet * z - (bet * z) ** 2 / 2) for z in (centre + size, centre - size)])
    assert mean <= 1.0 + 1e-12


def test_units_do_not_matter():
    """Nats or bits must say the same."""
    differences = np.random.default_rng(3).normal(0.3, 1.0, 50)
    nats, bits = (sequential_evidence((differences * f).tolist()) for f in (1.0, 1 / math.log(2)))
    assert nats.e_worse == pytest.approx(bits.e_worse)
    assert nats.decided_after == bits.decided_after


@pytest.mark.parametrize("draw", ["normal", "laplace", "standard_cauchy"])
def test_watching_it_at_every_episode_is_allowed(draw):
    """Both sides, 100 looks each, heavy tails: at most 2 x 5 % ever reach 20."""
    generator = np.random.default_rng(6)
    ends = [
        sequential_evidence(getattr(generator, draw)(size=100).tolist()).decided_after
        for _ in range(400)
    ]
    assert sum(end is not None for end in ends) / 400 <= 0.10


def test_a_clear_increase_is_called_worse_and_not_better():
    found = sequential_evidence((np.random.default_rng(1).normal(0.5, 0.5, 60)).tolist())
    assert found.e_worse > 20 > 1 > found.e_better
    assert found.decided_after is not None
    assert found.decided_after < 60


def test_a_margin_is_granted():
    losses = np.random.default_rng(1).normal(0.5, 0.5, 60).tolist()
    assert sequential_evidence(losses, margin=0.6).e_worse < 1


def test_zeros_and_huge_evidence_stay_finite():
    """A JSON file cannot hold infinity."""
    nothing = sequential_evidence([0.0] * 20)
    assert (nothing.e_worse, nothing.e_better, nothing.decided_after) == (1.0, 1.0, None)
    certain = sequential_evidence([1.0] * 5000)
    assert certain.e_worse == 1e100
    assert 0.0 <= certain.e_better < 1e-3
