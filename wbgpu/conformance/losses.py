"""Losses and divergences in nats with closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from wbgpu.contestants.kt import KrichevskyTrofimov
from wbgpu.records.conformance import KnownValue
from wbgpu.records.world import Schema, Variable
from wbgpu.regret.losses import kl_nats, log_loss_nats
from wbgpu.statistics import Distributions, kl_divergences, log_losses

_NATS = "nats"
_ROUNDING = 1e-12
# Logits are float32.
_SINGLE = 1e-5
_TOSSES = (1, 1, 0, 1, 1, 0, 1, 1, 0, 1)


def loss_values() -> Iterator[KnownValue]:
    """Divergences of distributions, losses of logits, codelengths of learners."""
    yield from _divergences()
    yield from _losses_of_logits()
    yield from _codelengths()


def _divergences() -> Iterator[KnownValue]:
    eighths = [0.5, 0.25, 0.125, 0.125]
    for subject, source, truth, forecast, expected in (
        ("KL of a forecast that is the truth", "definition", eighths, eighths, 0.0),
        (
            "KL of uniform over 4 against [1/2, 1/4, 1/8, 1/8]",
            "ln 4 - 7/4 ln 2",
            eighths,
            [0.25] * 4,
            math.log(4) - 1.75 * math.log(2),
        ),
        (
            "KL(Bernoulli 0.3 || Bernoulli 0.5)",
            "0.3 ln 0.6 + 0.7 ln 1.4",
            [0.3, 0.7],
            [0.5, 0.5],
            0.3 * math.log(0.6) + 0.7 * math.log(1.4),
        ),
        (
            "KL where truth and forecast rule the same outcome out",
            "0 ln 0 = 0",
            [0.5, 0.5, 0.0],
            [0.5, 0.5, 0.0],
            0.0,
        ),
    ):
        got = float(kl_nats(truth, forecast))
        yield KnownValue(subject, source, _NATS, expected, got, _ROUNDING)
    rows = kl_nats([[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]])
    yield KnownValue(
        "regret per step of a Markov chain [[.9, .1], [.4, .6]] forecast as [[.8, .2], [.5, .5]]",
        "stationary mean of the rows' KL, Cover & Thomas 2006, chapter 4",
        _NATS,
        0.0333791,
        float(rows @ np.array([0.8, 0.2])),
        5e-8,
    )


def _losses_of_logits() -> Iterator[KnownValue]:
    for subject, expected, logits, target in (
        ("log-loss of logits [0, -120], target 1", 120.0, torch.tensor([0.0, -120.0]), 1),
        (
            "log-loss of float16 logits [0, -20], target 1",
            20.0,
            torch.tensor([0.0, -20.0]).half(),
            1,
        ),
        ("log-loss of uniform logits over 262,144", 18 * math.log(2), torch.zeros(2**18), 7),
    ):
        got = log_losses(logits[None], torch.tensor([target])).loss_nats
        yield KnownValue(subject, "log-softmax", _NATS, expected, float(got[0]), _SINGLE)
    parts = [
        float(log_losses(torch.zeros(1, size), torch.tensor([0])).loss_nats[0])
        for size in (512, 512)
    ]
    yield KnownValue(
        "log-loss of uniform logits over a vocabulary of 2 factors of 512",
        "2 ln 512: losses of factors add",
        _NATS,
        2 * math.log(512),
        sum(parts),
        _SINGLE,
    )
    yield KnownValue(
        "KL of uniform logits over 4 against [1/2, 1/4, 1/8, 1/8]",
        "ln 4 - 7/4 ln 2",
        _NATS,
        math.log(4) - 1.75 * math.log(2),
        _kl_of_logits(torch.zeros(1, 4), torch.tensor([[4.0, 2.0, 1.0, 1.0]]).log()),
        _SINGLE,
    )


def _kl_of_logits(forecast: torch.Tensor, truth: torch.Tensor) -> float:
    target = torch.zeros(len(truth), dtype=torch.int64)
    sides = [
        Distributions(logits, "logits", log_losses(logits, target).log_sum_exp)
        for logits in (truth, forecast)
    ]
    return float(kl_divergences(*sides)[0])


def _codelengths() -> Iterator[KnownValue]:
    def laplace(seen: Sequence[int]) -> list[float]:
        return [(seen.count(k) + 1) / (len(seen) + 2) for k in (0, 1)]

    learner = KrichevskyTrofimov(
        Schema("coin", (Variable("coin", ("tails", "heads")),), ("toss",)), []
    )

    def krichevsky_trofimov(seen: Sequence[int]) -> list[float]:
        none = np.zeros((1, 1), dtype=np.int64)
        learner.reset(1)
        for outcome in seen:
            learner.learn(none, none[0], np.array([[outcome]]))
        (rows,) = learner.predict(none, none[0])
        return [float(p) for p in rows[0]]

    laplace_nats = math.log(11 * math.comb(10, 7))
    kt_nats = math.lgamma(11) - math.lgamma(7.5) - math.lgamma(3.5) + math.log(math.pi)
    for name, forecast, expected in (
        ("Laplace", laplace, laplace_nats),
        ("Krichevsky-Trofimov", krichevsky_trofimov, kt_nats),
    ):
        for order, tosses in (("mixed", _TOSSES), ("sorted", tuple(sorted(_TOSSES)))):
            yield KnownValue(
                f"codelength of 7 heads in 10 tosses by {name}'s rule, {order} order",
                "Beta integrals",
                _NATS,
                expected,
                _codelength(forecast, tosses),
                1e-9,
            )


def _codelength(forecast: Callable[[Sequence[int]], list[float]], tosses: Sequence[int]) -> float:
    rows = [forecast(tosses[:index]) for index in range(len(tosses))]
    return float(log_loss_nats(rows, list(tosses)).sum())
