"""Losses of predictions and of references: closed forms, the chain rule, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wbgpu.metrics import prediction_losses
from wbgpu.metrics.prediction_losses import REFERENCES
from wbgpu.regret import kl_nats, log_loss_nats


def of_probabilities(truth, forecast):
    """Losses of every outcome that can happen, and how likely it is."""
    target = torch.tensor([k for k, p in enumerate(truth) if p > 0])
    rows = [torch.tensor([row] * len(target), dtype=torch.float64) for row in (truth, forecast)]
    losses = prediction_losses(
        rows[1], target, forecast="probabilities", reference_probabilities=rows[0]
    )
    return losses, rows[0][0, target]


@pytest.mark.parametrize(
    ("truth", "forecast", "nats"),
    [
        ([0.5, 0.25, 0.125, 0.125], [0.25] * 4, 0.1732868),
        ([0.3, 0.7], [0.5, 0.5], 0.0822829),
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5], 0.0),
        ([0.5, 0.5, 0.0], [0.5, 0.5, 0.0], 0.0),
    ],
)
def test_closed_forms(truth, forecast, nats):
    """The mean of realised regret under the truth is the expected regret."""
    losses, weights = of_probabilities(truth, forecast)
    assert losses.expected_regret_nats.tolist() == pytest.approx([nats] * len(weights), abs=1e-7)
    assert (weights * losses.regret_nats).sum().item() == pytest.approx(nats, abs=1e-7)


def test_the_rate_of_a_markov_chain():
    """Rows of the chain weigh as often as its states are visited."""
    truth = torch.tensor([[0.9, 0.1], [0.4, 0.6]])
    forecast = torch.tensor([[0.8, 0.2], [0.5, 0.5]])
    losses = prediction_losses(
        forecast.log(),
        torch.tensor([0, 1]),
        reference_probabilities=truth.double() / truth.double().sum(1, keepdim=True),
    )
    stationary = torch.tensor([0.8, 0.2], dtype=torch.float64)
    rate = (stationary * losses.expected_regret_nats).sum().item()
    assert rate == pytest.approx(0.0333791, abs=1e-7)


def prequential_nats(outcomes, prior):
    """Codelength of coin tosses by (count + prior) / (n + 2 prior), from one batch of logits."""
    counts = torch.zeros(2, dtype=torch.float64)
    rows = []
    for outcome in outcomes:
        rows.append((counts + prior).log())
        counts[outcome] += 1
    losses = prediction_losses(torch.stack(rows), torch.tensor(outcomes))
    return losses.log_loss_nats.sum().item()


@settings(max_examples=20, deadline=None)
@given(st.permutations([1] * 7 + [0] * 3))
def test_prequential_codelengths_in_any_order(outcomes):
    """Laplace's and KT's learners lose the same in whichever order the outcomes come."""
    assert prequential_nats(outcomes, 1.0) == pytest.approx(7.1853870, abs=1e-7)
    assert prequential_nats(outcomes, 0.5) == pytest.approx(7.5138046, abs=1e-7)


def test_losses_of_a_factorised_vocabulary_add():
    """A token of two parts of 512 is one of 262,144."""
    part = torch.zeros((1, 512))
    target = torch.tensor([3])
    both = prediction_losses(part, target) + prediction_losses(part, target)
    assert both.log_loss_nats.item() == pytest.approx(12.4766493, abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sizes=st.tuples(st.integers(1, 5), st.integers(1, 6)))
def test_the_chain_rule_over_factors(seed, sizes):
    """Losses, regret and expected regret of independent variables add to those of the joint."""
    generator = torch.Generator().manual_seed(seed)
    (a, b), n = sizes, 4
    forecasts, references, targets = [], [], []
    for size in (a, b):
        forecasts.append(3 * torch.randn((n, size), generator=generator))
        references.append(3 * torch.randn((n, size), generator=generator))
        targets.append(torch.randint(0, size, (n,), generator=generator))
    whole = prediction_losses(
        (forecasts[0][:, :, None].double() + forecasts[1][:, None]).flatten(1),
        targets[0] * b + targets[1],
        reference_logits=(references[0][:, :, None].double() + references[1][:, None]).flatten(1),
    )
    parts = [
        prediction_losses(f, t, reference_logits=r)
        for f, t, r in zip(forecasts, targets, references, strict=True)
    ]
    joint = parts[0] + parts[1]
    for name in ("log_loss_nats", "regret_nats", "expected_regret_nats"):
        torch.testing.assert_close(
            getattr(joint, name), getattr(whole, name), rtol=1e-6, atol=1e-6, msg=name
        )
    assert torch.equal(joint.is_top1, whole.is_top1)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), epsilon=st.floats(1e-6, 0.999))
def test_mixing_the_truth_with_anything_costs_little(seed, epsilon):
    """(1 - e) P + e U loses at most -ln(1 - e) nats to P, whatever happens."""
    random = np.random.default_rng(seed)
    truth = random.dirichlet(np.full(6, 0.3), size=8)
    truth /= truth.sum(-1, keepdims=True)
    mixture = (1 - epsilon) * truth + epsilon / 6
    target = torch.from_numpy(np.array([random.choice(6, p=p) for p in truth]))
    losses = prediction_losses(
        torch.from_numpy(mixture),
        target,
        forecast="probabilities",
        reference_probabilities=torch.from_numpy(truth),
    )
    bound = -math.log1p(-epsilon) + 1e-12
    assert bool((losses.regret_nats <= bound).all())
    assert bool((losses.expected_regret_nats <= bound).all())
    assert bool((losses.expected_regret_nats >= -1e-12).all())


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), zeros=st.sampled_from([0.0, 0.4]))
def test_numbers_are_those_of_the_torch_free_path(seed, zeros):
    """The bench and a training run would otherwise disagree about the same forecasts."""
    random = np.random.default_rng(seed)
    rows = random.dirichlet(np.ones(5), size=(2, 7))
    rows[random.random(rows.shape) < zeros] = 0
    rows[..., 0] += 1e-3
    truth, forecast = rows / rows.sum(-1, keepdims=True)
    target = np.array([random.choice(5, p=p) for p in truth])
    # As far off 1 as either allows.
    truth, forecast = (
        (1 + random.uniform(-9e-7, 9e-7, (7, 1))) * rows for rows in (truth, forecast)
    )
    losses = prediction_losses(
        torch.from_numpy(forecast),
        torch.from_numpy(target),
        forecast="probabilities",
        reference_probabilities=torch.from_numpy(truth),
    )
    for got, expected in (
        (losses.log_loss_nats, log_loss_nats(forecast, target)),
        (losses.reference_loss_nats, log_loss_nats(truth, target)),
        (losses.expected_regret_nats, kl_nats(truth, forecast)),
    ):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_a_forecast_that_rules_out_what_can_happen_is_infinitely_wrong():
    """An epsilon in its place would make a number of what is a fault."""
    losses, _ = of_probabilities([0.3, 0.3, 0.4], [0.5, 0.5, 0.0])
    assert losses.expected_regret_nats.tolist() == [math.inf] * 3
    assert losses.log_loss_nats.tolist() == pytest.approx([math.log(2)] * 2 + [math.inf])
    assert losses.regret_nats[2] == math.inf


def test_regret_may_be_negative():
    """A forecaster can be lucky; clamped, its mean would be too high."""
    losses, _ = of_probabilities([0.5, 0.5], [0.9, 0.1])
    assert losses.regret_nats[0].item() == pytest.approx(math.log(0.5 / 0.9))


def test_references_are_the_same_in_every_form():
    """Of logits, log-probabilities, probabilities or losses, the regret is one."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn((2, 3, 4), generator=generator, dtype=torch.float64)
    reference = torch.randn((2, 3, 4), generator=generator, dtype=torch.float64)
    target = torch.randint(0, 4, (2, 3), generator=generator)
    logs = reference.log_softmax(-1)
    forms = (logs, logs.exp(), reference, -logs.gather(-1, target[..., None])[..., 0])
    whole = [
        prediction_losses(logits, target, **{name: form})
        for name, form in zip(REFERENCES, forms, strict=True)
    ]
    for losses in whole[1:]:
        torch.testing.assert_close(losses.regret_nats, whole[0].regret_nats, rtol=0, atol=1e-14)
    for losses in whole[1:3]:
        torch.testing.assert_close(
            losses.expected_regret_nats, whole[0].expected_regret_nats, rtol=0, atol=1e-14
        )
    assert whole[3].expected_regret_nats is None
    assert prediction_losses(logits, target).regret_nats is None


def test_what_a_reference_may_not_be():
    """A wrong answer key is worse than none."""
    logits, target = torch.zeros((2, 3)), torch.tensor([1, 2])
    with pytest.raises(ValueError, match="expected one reference, got 2"):
        prediction_losses(logits, target, reference_logits=logits, reference_loss_nats=logits[:, 0])
    with pytest.raises(TypeError, match="unknown reference"):
        prediction_losses(logits, target, reference=logits)
    with pytest.raises(ValueError, match=r"reference_log_probs of 'cup' row \[0\]: .* sum to 3;"):
        prediction_losses(logits, target, name="cup", reference_log_probs=logits)
    key = torch.tensor([[0.5, 0.5, 0.0]] * 2)
    with pytest.raises(
        ValueError, match=r"reference_probabilities row \[1\]: .* class 2, which is"
    ):
        prediction_losses(logits, target, reference_probabilities=key)
    for losses, found in (
        ([0.1, -0.2], "-0.2"),
        ([0.1, math.inf], "inf"),
        ([0.1, math.nan], "nan"),
    ):
        with pytest.raises(ValueError, match=rf"reference_loss_nats row \[1\]: .*got {found}"):
            prediction_losses(logits, target, reference_loss_nats=torch.tensor(losses))
        masked = prediction_losses(
            logits,
            target,
            valid=torch.tensor([True, False]),
            reference_loss_nats=torch.tensor(losses),
        )
        assert masked.regret_nats[0].item() == pytest.approx(math.log(3) - 0.1, abs=1e-7)
    with pytest.raises(ValueError, match=r"reference_loss_nats \(2, 3\): .*\(2,\)"):
        prediction_losses(logits, target, reference_loss_nats=logits)
    with pytest.raises(TypeError, match="reference_loss_nats: expected floating"):
        prediction_losses(logits, target, reference_loss_nats=target)
    with pytest.raises(ValueError, match=r"\(2, 4\).*\(2, 3\)"):
        prediction_losses(logits, target, reference_logits=torch.zeros((2, 4)))
