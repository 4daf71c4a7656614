"""From losses of predictions to sums and counts that add, and from these to means."""

from __future__ import annotations

import torch
from torch import Tensor

from wbgpu.metrics.prediction_losses import PredictionLosses

QUANTITIES = ("log_loss_nats", "reference_loss_nats", "regret_nats", "expected_regret_nats")
"""What is averaged."""

NUM_COUNTS = 2 * len(QUANTITIES) + 1
"""For each quantity the predictions that have it, and those where it is infinite; then top-1."""


def loss_columns(losses: PredictionLosses) -> tuple[Tensor, Tensor]:
    """What each prediction adds.

    Returns:
        float64 ``[4, ...]``, finite parts of `QUANTITIES`, and int64 ``[NUM_COUNTS, ...]``.
    """
    values, counts = [], []
    for name in QUANTITIES:
        value = getattr(losses, name)
        if value is None:
            value, is_there = torch.zeros_like(losses.log_loss_nats), losses.valid & False
        else:
            is_there = losses.valid
        is_infinite = value.isinf()
        values.append(torch.where(is_there & ~is_infinite, value, 0.0))
        counts += [is_there, is_there & is_infinite]
    counts.append(losses.valid & losses.is_top1)
    return torch.stack(values), torch.stack(counts).long()


def loss_means(sums: Tensor, counts: Tensor) -> dict[str, Tensor]:
    """Means, NaN where there is nothing to average, infinite where one prediction is.

    Args:
        sums: float64 ``[4, ...]``.
        counts: int64 ``[NUM_COUNTS, ...]``.

    Returns:
        ``[...]`` each, see `LogLossRegret.compute`.
    """
    out: dict[str, Tensor] = {}
    for index, name in enumerate(QUANTITIES):
        count, num_infinite = counts[2 * index], counts[2 * index + 1]
        finite = sums[index] / (count - num_infinite)
        out[name] = torch.where(num_infinite > 0, torch.inf, finite)
        if name != "reference_loss_nats":
            out[f"finite_{name}"] = finite
    return {
        **out,
        "top1_accuracy": counts[-1] / counts[0].double(),
        "count": counts[0],
        "reference_count": counts[2],
        "expected_count": counts[6],
        "num_infinite": counts[1],
        "num_infinite_expected": counts[7],
    }
