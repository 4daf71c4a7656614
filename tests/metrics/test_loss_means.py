"""Sums and counts of losses, and the means of them."""

from __future__ import annotations

import math

import pytest
import torch

from wbgpu.metrics.loss_means import loss_columns, loss_means
from wbgpu.metrics.prediction_losses import PredictionLosses


def means(**losses):
    log_loss = torch.tensor(losses.pop("log_loss_nats"), dtype=torch.float64)
    sums, counts = loss_columns(
        PredictionLosses(
            torch.tensor(losses.pop("valid", [True] * len(log_loss))),
            log_loss,
            torch.tensor(losses.pop("is_top1", [False] * len(log_loss))),
            **{name: torch.tensor(value, dtype=torch.float64) for name, value in losses.items()},
        )
    )
    return {k: v.item() for k, v in loss_means(sums.sum(-1), counts.sum(-1)).items()}


def test_an_infinite_loss_makes_the_mean_infinite_and_is_counted():
    """Left out silently, a forecast that rules outcomes out would look better for it."""
    got = means(
        log_loss_nats=[1.0, math.inf, 3.0],
        reference_loss_nats=[0.5, 0.25, 0.75],
        expected_regret_nats=[math.inf, 2.0, 4.0],
        is_top1=[True, False, True],
    )
    assert got["log_loss_nats"] == got["regret_nats"] == got["expected_regret_nats"] == math.inf
    assert got["finite_log_loss_nats"] == 2.0
    assert got["finite_regret_nats"] == (0.5 + 2.25) / 2
    assert got["finite_expected_regret_nats"] == 3.0
    assert got["reference_loss_nats"] == 0.5
    assert (got["num_infinite"], got["num_infinite_expected"], got["count"]) == (1, 1, 3)
    assert got["top1_accuracy"] == pytest.approx(2 / 3)


def test_what_is_missing_is_not_zero():
    """A regret of 0 without a reference would be a perfect score."""
    got = means(log_loss_nats=[1.0])
    assert got["log_loss_nats"] == 1.0
    assert got["reference_count"] == got["expected_count"] == 0
    names = ("reference_loss_nats", "regret_nats", "expected_regret_nats", "finite_regret_nats")
    assert all(math.isnan(got[name]) for name in names)


def test_what_is_not_valid_is_not_counted():
    """All targets ignored gave NaN for a whole run (pytorch #116349); here the count says it."""
    got = means(log_loss_nats=[math.nan, 2.0], valid=[False, True], is_top1=[True, False])
    assert (got["log_loss_nats"], got["count"], got["top1_accuracy"]) == (2.0, 1, 0.0)
    nothing = means(log_loss_nats=[math.nan], valid=[False])
    assert math.isnan(nothing["log_loss_nats"])
    assert math.isnan(nothing["top1_accuracy"])
    assert nothing["count"] == nothing["num_infinite"] == 0
