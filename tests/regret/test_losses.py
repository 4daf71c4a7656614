"""Losses of single forecasts, against closed forms and a loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import rel_entr

from wbgpu.errors import ConfigurationError
from wbgpu.regret import kl_nats, log_loss_nats


@st.composite
def distributions(draw, shape=(3, 4)):
    """Rows with zeros and tiny entries among them."""
    weights = draw(
        hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 0.5, 1.0]))
    )
    weights[..., 0] += 1e-3
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("truth", "forecast", "expected"),
    [
        ([1 / 2, 1 / 4, 1 / 8, 1 / 8], [1 / 2, 1 / 4, 1 / 8, 1 / 8], 0.0),
        ([1 / 2, 1 / 4, 1 / 8, 1 / 8], [1 / 4] * 4, 0.1732868),
        ([0.3, 0.7], [0.5, 0.5], 0.0822829),
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], 0.0),
    ],
)
def test_expected_regret_in_closed_form(truth, forecast, expected):
    """A factor of ln 2, a swapped pair or a NaN from 0 * ln 0 would show here."""
    assert kl_nats(truth, forecast) == pytest.approx(expected, abs=1e-7)


def test_rate_of_a_markov_chain_in_closed_form():
    """The wrong weights of the states would give another rate."""
    truth, forecast = [[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]]
    stationary = np.array([0.8, 0.2])
    assert stationary @ kl_nats(truth, forecast) == pytest.approx(0.0333791, abs=1e-7)


def test_what_the_forecast_rules_out_is_infinite_and_what_the_truth_rules_out_is_free():
    """An epsilon in the logarithm would make both finite."""
    assert log_loss_nats([0.5, 0.5, 0.0], 2) == math.inf
    assert log_loss_nats([0.5, 0.5, 0.0], 1) == pytest.approx(math.log(2))
    assert kl_nats([0.3, 0.3, 0.4], [0.5, 0.5, 0.0]) == math.inf
    assert kl_nats([1.0, 0.0], [1.0, 0.0]) == 0.0
    assert kl_nats([1.0, 0.0], [0.5, 0.5]) == pytest.approx(math.log(2))


def test_a_certain_outcome_costs_nothing_and_not_minus_nothing():
    assert math.copysign(1.0, float(log_loss_nats([1.0, 0.0], 0))) == 1.0


@given(distributions(), distributions())
def test_kl_is_what_scipy_says_and_never_negative(truth, forecast):
    ours, theirs = kl_nats(truth, forecast), rel_entr(truth, forecast).sum(axis=-1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert (ours >= -1e-12).all()


@given(distributions(), distributions())
def test_expected_regret_is_the_mean_of_the_realised_one(truth, forecast):
    """The two would otherwise measure different things."""
    for p, q, expected in zip(truth, forecast, kl_nats(truth, forecast), strict=True):
        happens = [k for k in range(len(p)) if p[k] > 0]
        regrets = [log_loss_nats(q, k) - log_loss_nats(p, k) for k in happens]
        mean = math.fsum(p[k] * float(r) for k, r in zip(happens, regrets, strict=True))
        assert expected == pytest.approx(mean, rel=1e-9, abs=1e-12)


@given(distributions(), st.floats(0.001, 0.9))
def test_a_mixture_with_uniform_is_bounded(truth, epsilon):
    """(1 - e) P + e U costs at most -ln(1 - e) a step, whatever happens."""
    mixture = (1 - epsilon) * truth + epsilon / truth.shape[-1]
    bound = -math.log(1 - epsilon) * (1 + 1e-12) + 1e-12
    assert (kl_nats(truth, mixture) <= bound).all()
    for outcome in range(truth.shape[-1]):
        rows = truth[truth[:, outcome] > 0], mixture[truth[:, outcome] > 0]
        outcomes = np.full(len(rows[0]), outcome)
        regret = log_loss_nats(rows[1], outcomes) - log_loss_nats(rows[0], outcomes)
        assert (regret <= bound).all()


@given(distributions((5, 3)), distributions((5, 3)), st.permutations(range(5)))
def test_a_row_does_not_depend_on_its_batch(truth, forecast, order):
    """Bit for bit: else two batch sizes would give two results."""
    whole = kl_nats(truth, forecast)
    order = list(order)
    np.testing.assert_array_equal(kl_nats(truth[order], forecast[order]), whole[order])
    for row in range(5):
        assert kl_nats(truth[row : row + 1], forecast[row : row + 1])[0] == whole[row]


@pytest.mark.parametrize(
    ("forecast", "outcome", "message"),
    [
        ([[0.5, 0.5], [0.2, 0.3]], [0, 0], "forecast, row 1: the probabilities sum to 0.5"),
        ([[0.5, 0.5], [0.5, 0.5 + 2e-6]], [0, 0], r"forecast, row 1: .* sum to 1\.000002"),
        ([[0.5, 0.5], [1.5, -0.5]], [0, 0], "forecast, row 1: outcome 1: .*>= 0, got -0.5"),
        ([[0.5, 0.5], [math.nan, 1.0]], [0, 0], "forecast, row 1: outcome 0: .*got nan"),
        ([[0.5, 0.5], [math.inf, 1.0]], [0, 0], "forecast, row 1: outcome 0: .*got inf"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, 2], "outcome, row 1: expected 0 to 1, got 2"),
        ([[0.5, 0.5], [0.5, 0.5]], [-1, 0], "outcome, row 0: expected 0 to 1, got -1"),
        ([[0.5, 0.5], [0.5, 0.5]], [0], r"outcome: expected the shape \[2\], got \[1\]"),
        ([[0.5, 0.5], [0.5, 0.5]], [0.0, 1.0], "outcome: expected integers, got float64"),
        ([["a", "b"]], [0], "forecast: expected an array of numbers"),
        ([[0.5, 0.5], [1.0]], [0, 0], "forecast: expected an array of numbers"),
        ([[]], [0], "forecast: expected at least one outcome"),
        (0.5, 0, "forecast: expected at least one outcome"),
    ],
)
def test_what_is_no_forecast_is_refused_by_name(forecast, outcome, message):
    """A clamp or a silent normalisation would turn each of these into a number."""
    with pytest.raises(ValueError, match=message):
        log_loss_nats(forecast, outcome)


def test_shapes_that_differ_are_refused():
    with pytest.raises(ConfigurationError, match=r"expected the truth's shape \[2\], got \[3\]"):
        kl_nats([0.5, 0.5], [0.5, 0.25, 0.25])


def test_what_a_sum_is_off_by_earns_nothing():
    """Used as it is, a forecast of more than 1 in all would gain up to 1e-6 nats at every step."""
    row = [0.5, 0.5 + 9e-7]
    assert log_loss_nats(row, 1) == pytest.approx(-math.log(row[1] / sum(row)), rel=1e-14)
    assert log_loss_nats([1 + 9e-7], 0) == 0.0
    assert abs(kl_nats([0.5, 0.5], [0.5 + 4e-7, 0.5 + 4e-7])) < 1e-15
