"""Losses of single forecasts, in nats and float64, never clamped.

log-loss = -ln forecast(outcome); KL(truth || forecast) = sum of truth * ln(truth / forecast), where
0 * ln 0 = 0 (Cover & Thomas, Elements of Information Theory, 2006, chapter 2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.regret.distributions import Floats, check_distributions, log_probabilities


def log_loss_nats(forecast: npt.ArrayLike, outcome: npt.ArrayLike) -> Floats:
    """Loss of what happened: ``[...]``, infinite where the forecast had ruled it out.

    Args:
        forecast: probabilities ``[..., K]``.
        outcome: integers ``[...]``, 0 ... K - 1.

    Raises:
        ConfigurationError: a row is no distribution, an outcome is outside 0 ... K - 1, or the
            shapes do not fit; the message names the row.
    """
    rows = check_distributions(forecast, "forecast")
    return loss_of_logs(log_probabilities(rows), check_outcomes(outcome, rows, "outcome"))


def kl_nats(truth: npt.ArrayLike, forecast: npt.ArrayLike) -> Floats:
    """Expected regret ``[...]``: infinite where the forecast rules out what can happen.

    Args:
        truth, forecast: probabilities ``[..., K]`` of one shape.

    Raises:
        ConfigurationError: a row is no distribution, or the shapes differ.
    """
    p, q = check_distributions(truth, "truth"), check_distributions(forecast, "forecast")
    if p.shape != q.shape:
        raise ConfigurationError(
            f"forecast: expected the truth's shape {[*p.shape]}, got {[*q.shape]}"
        )
    return kl_of_logs(p, log_probabilities(p), log_probabilities(q))


def loss_of_logs(log_forecast: Floats, outcome: npt.NDArray[np.int64]) -> Floats:
    """Log-loss of checked log-probabilities ``[..., K]`` and outcomes ``[...]``."""
    picked = np.take_along_axis(log_forecast, outcome[..., None], axis=-1)[..., 0]
    # 0 - x and not -x: the loss of a certain outcome is 0, not -0.
    loss: Floats = 0.0 - picked
    return loss


def kl_of_logs(truth: Floats, log_truth: Floats, log_forecast: Floats) -> Floats:
    """KL divergence of checked ``[..., K]``; truth also as probabilities, to weigh exactly."""
    is_possible = truth > 0
    terms = np.zeros_like(truth)
    np.subtract(log_truth, log_forecast, out=terms, where=is_possible)
    np.multiply(terms, truth, out=terms, where=is_possible)
    divergence: Floats = terms.sum(axis=-1)
    return divergence


def check_outcomes(outcome: npt.ArrayLike, rows: Floats, name: str) -> npt.NDArray[np.int64]:
    """Outcomes as int64, one per row of ``[..., K]``.

    Raises:
        ConfigurationError: no integers, a wrong shape, or one outside 0 ... K - 1.
    """
    array = np.asarray(outcome)
    if array.dtype.kind not in "iu":
        raise ConfigurationError(f"{name}: expected integers, got {array.dtype}")
    if array.shape != rows.shape[:-1]:
        raise ConfigurationError(
            f"{name}: expected the shape {[*rows.shape[:-1]]}, got {[*array.shape]}"
        )
    num_outcomes = rows.shape[-1]
    is_bad = (array < 0) | (array >= num_outcomes)
    if is_bad.any():
        row = np.argwhere(is_bad)[0].tolist()
        raise ConfigurationError(
            f"{name}, row {row[0] if len(row) == 1 else row}: expected 0 to {num_outcomes - 1}, "
            f"got {array[tuple(row)]}"
        )
    return array.astype(np.int64, copy=False)
