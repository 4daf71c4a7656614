"""Kullback-Leibler divergence of rows of forecasts, in nats: the expected regret.

Formula: KL(P || Q) = sum over k of P ln(P / Q), where 0 ln 0 = 0, added up as P (t - 1) + Q with
t = ln(P / Q), whose terms are not negative. So nothing cancels, and an error of 1e-7 in what
normalises P or Q, as of float32, moves the result by 1e-7 of itself only. Float64, a chunk at a
time. Matches ``scipy.special.rel_entr`` summed over classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wbgpu.statistics.log_loss import ForecastKind
from wbgpu.statistics.logit_rows import row_chunks, row_views

_MAX_CHUNK_ELEMENTS = 1 << 17


@dataclass(frozen=True)
class Distributions:
    """Rows of categorical distributions, checked by `log_losses`.

    Attributes:
        values: ``[..., K]``.
        kind: what they are.
        log_sum_exp: float64 ``[...]``, of `LogLosses`.
    """

    values: Tensor
    kind: ForecastKind
    log_sum_exp: Tensor


def kl_divergences(truth: Distributions, forecast: Distributions) -> Tensor:
    """KL(truth || forecast) of every row.

    Returns:
        float64 ``[...]``: at least 0 up to rounding; infinite where the forecast rules out what the
        truth holds possible; NaN where a log-sum-exp is NaN, as of rows that are not valid.

    Raises:
        ValueError: the shapes differ.
    """
    if truth.values.shape != forecast.values.shape:
        raise ValueError(
            f"reference {tuple(truth.values.shape)}: expected the shape of the forecast, "
            f"{tuple(forecast.values.shape)}"
        )
    shape = forecast.log_sum_exp.shape
    out = torch.zeros(shape.numel(), dtype=torch.float64, device=forecast.values.device)
    num_classes = forecast.values.shape[-1]
    sides = [
        (row_views(side.values.detach()), side.log_sum_exp.reshape(-1), side.kind)
        for side in (truth, forecast)
    ]
    for chunk in row_chunks(len(out), num_classes, _MAX_CHUNK_ELEMENTS):
        # A row that is longer than a chunk is cut.
        step = _MAX_CHUNK_ELEMENTS
        for first in range(0, num_classes, step):
            log_p, log_q = (
                _log_probabilities(_rows(views, chunk)[:, first : first + step], sums[chunk], kind)
                for views, sums, kind in sides
            )
            out[chunk] += _terms(log_p, log_q).sum(dim=1)
    is_nan = truth.log_sum_exp.isnan() | forecast.log_sum_exp.isnan()
    return torch.where(is_nan, torch.nan, out.reshape(shape))


def _rows(views: list[Tensor], chunk: slice) -> Tensor:
    parts, start = [], 0
    for view in views:
        first, last = max(chunk.start - start, 0), min(chunk.stop - start, len(view))
        if first < last:
            parts.append(view[first:last])
        start += len(view)
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _log_probabilities(values: Tensor, log_sum_exp: Tensor, kind: ForecastKind) -> Tensor:
    values = values.double()
    return (values.log() if kind == "probabilities" else values) - log_sum_exp[:, None]


def _terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    p, q = log_p.exp(), log_q.exp()
    return torch.where(p > 0, p * (log_p - log_q - 1) + q, q)
