"""Expected regret of rows, against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import log_loss_loops
from wbgpu.statistics import Distributions, kl_divergences, log_losses
from wbgpu.statistics import kl_divergence as module


def distributions(values, kind="logits", valid=None):
    target = torch.zeros(values.shape[:-1], dtype=torch.int64)
    return Distributions(values, kind, log_losses(values, target, valid, kind=kind).log_sum_exp)


def divergence(truth, forecast, kind="probabilities"):
    rows = (torch.tensor([row], dtype=torch.float64) for row in (truth, forecast))
    return kl_divergences(*(distributions(row, kind) for row in rows)).item()


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    num_classes=st.integers(1, 50),
    scale=st.sampled_from([0.01, 1.0, 10.0, 1e3]),
    distance=st.sampled_from([1e-3, 1.0, 10.0]),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float16, torch.float64]),
)
def test_divergences_are_scipys(seed, num_classes, scale, distance, dtype):
    """Rows of any spread, near or far from each other, of any type."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(3, num_classes)) * scale
    y = x + random.normal(size=x.shape) * distance
    truth, forecast = (torch.from_numpy(z).to(dtype) for z in (x, y))
    p, q = (np.exp(log_loss_loops.log_probabilities(z)) for z in (truth, forecast))
    got = kl_divergences(distributions(truth), distributions(forecast))
    is_representable = (q > 0).all(axis=-1)
    expected = log_loss_loops.kl_nats(p, q)
    np.testing.assert_allclose(
        got.numpy()[is_representable], expected[is_representable], rtol=1e-6, atol=1e-14
    )
    assert bool((got >= -1e-15).all())


@pytest.mark.parametrize(
    ("truth", "forecast", "nats"),
    [
        ([0.5, 0.25, 0.125, 0.125], [0.25] * 4, 0.17328679513998632),
        ([0.3, 0.7], [0.5, 0.5], 0.08228287850505178),
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], 0.0),
        ([0.3, 0.3, 0.4], [0.5, 0.5, 0.0], math.inf),
        ([0.0, 1.0], [0.5, 0.5], math.log(2)),
    ],
)
def test_closed_forms(truth, forecast, nats):
    """Where truth and forecast give nothing, torch's kl_div is NaN; a zero forecast is infinite."""
    assert divergence(truth, forecast) == pytest.approx(nats, abs=1e-15)
    for kind in ("log_probs", "logits"):
        logs = ([math.log(x) if x else -math.inf for x in row] for row in (truth, forecast))
        assert divergence(*logs, kind=kind) == pytest.approx(nats, abs=1e-15)


def test_near_equal_distributions_keep_their_digits():
    """A checkpoint that drifts by 1e-6 has a divergence of 1e-13, which must not be noise."""
    generator = torch.Generator().manual_seed(0)
    truth = torch.randn((1, 5000), generator=generator, dtype=torch.float64)
    step = torch.randn((1, 5000), generator=generator, dtype=torch.float64)
    p = truth.softmax(-1)
    mean = (p * step).sum()
    variance = (p * (step - mean) ** 2).sum().item()
    for size in (1e-3, 1e-5):
        got = kl_divergences(distributions(truth), distributions(truth + size * step)).item()
        assert got == pytest.approx(size**2 * variance / 2, rel=2 * size + 1e-5)


def test_rows_are_cut_and_gathered(monkeypatch):
    """Rows longer than a chunk, and chunks over several views, must add up to the same."""
    generator = torch.Generator().manual_seed(0)
    memory = torch.randn((2, 4, 6, 50), generator=generator)
    truth, forecast = memory[:, :3], memory[:, 1:]
    expected = kl_divergences(distributions(truth.contiguous()), distributions(forecast))
    for max_elements in (7, 50, 120, 10_000):
        monkeypatch.setattr(module, "_MAX_CHUNK_ELEMENTS", max_elements)
        got = kl_divergences(distributions(truth), distributions(forecast))
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-15)


def test_rows_that_are_not_valid_have_no_value():
    """A padded row of zeros has a divergence, which must not be counted."""
    valid = torch.tensor([True, False])
    rows = torch.tensor([[0.0, 1.0], [math.nan, 1.0]])
    got = kl_divergences(
        distributions(torch.zeros(2, 2), valid=valid), distributions(rows, valid=valid)
    )
    assert got[0] > 0
    assert math.isnan(got[1])


def test_shapes_that_differ_are_refused():
    """Vocabularies of two models often differ by padding."""
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 4\)"):
        kl_divergences(distributions(torch.zeros(2, 3)), distributions(torch.zeros(2, 4)))
