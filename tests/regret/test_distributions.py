"""Checks of probabilities, and the log-softmax that logits are judged by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import log_softmax as scipy_log_softmax

from wbgpu.errors import ConfigurationError
from wbgpu.regret import check_distributions, log_softmax

LOGITS = st.one_of(st.floats(-1e4, 1e4), st.just(-math.inf))


def test_gaps_that_probabilities_cannot_hold_stay_exact():
    """softmax then log makes infinity of each."""
    assert log_softmax([0.0, -120.0])[1] == pytest.approx(-120.0, rel=1e-15)
    assert log_softmax([0.0, -1e4])[1] == -1e4
    assert log_softmax([1e4, -1e4])[1] == -2e4
    assert log_softmax(np.array([0, -20], dtype=np.float16))[1] == pytest.approx(-20, abs=1e-8)


def test_an_outcome_may_be_ruled_out():
    logs = log_softmax([0.0, 0.0, -math.inf])
    assert logs[2] == -math.inf
    assert logs[0] == pytest.approx(-math.log(2))


@given(hnp.arrays(np.float64, (3, 5), elements=LOGITS))
def test_is_what_scipy_says(logits):
    logits[:, 0] = 1.0
    np.testing.assert_allclose(
        log_softmax(logits), scipy_log_softmax(logits, axis=-1), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([[0.0, 1.0], [math.nan, 0.0]], "logits, row 1: outcome 0: expected a logit, got nan"),
        ([[0.0, 1.0], [0.0, math.inf]], "logits, row 1: outcome 1: expected a logit, got inf"),
        ([[0.0, 1.0], [-math.inf] * 2], "logits, row 1: rules every outcome out"),
        ([[0.0, 1.0], [0.0, -1e91]], "logits, row 1: outcome 1: expected a logit of at most 5e.89"),
        ([[1e120, 0.0]], "logits, row 0: outcome 0: expected a logit of at most 5e.89"),
        ([], "logits: expected at least one outcome"),
        (["a"], "logits: expected an array of numbers"),
    ],
)
def test_what_is_no_logits_is_refused_by_row(logits, message):
    with pytest.raises(ConfigurationError, match=message):
        log_softmax(logits)


def test_rows_of_any_shape_are_named_by_all_their_indices():
    rows = np.full((2, 3, 4), 0.25)
    rows[1, 2] = 0.3
    with pytest.raises(ConfigurationError, match=r"q, row \[1, 2\]: the probabilities sum to 1\.2"):
        check_distributions(rows, "q")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 3), "expected 4 outcomes, got 3"),
        ((3, 4), r"expected the shape \[2, 4\]"),
        ((4,), r"got \[4\]"),
    ],
)
def test_a_wrong_shape_is_refused(shape, message):
    with pytest.raises(ConfigurationError, match=message):
        check_distributions(np.full(shape, 1 / shape[-1]), "q", num_outcomes=4, num_rows=2)


def test_float32_and_integers_are_taken():
    """A model's own float32 rows sum to 1 within 1e-7, and one-hot rows are often integers."""
    rows = np.full((2, 3), 1 / 3, dtype=np.float32)
    assert check_distributions(rows, "q").dtype == np.float64
    assert check_distributions(np.eye(3, dtype=np.int64), "q").dtype == np.float64
