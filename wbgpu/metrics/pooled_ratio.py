"""Ratios of sums over the steps of a prefix, never means of ratios."""

from __future__ import annotations

import torch
from torch import Tensor


def pooled_ratio(numerator: Tensor, denominator: Tensor) -> tuple[Tensor, Tensor]:
    """Ratio of cumulative sums, and ratio per step.

    Args:
        numerator: ``[B, T]``; integers are added exactly.
        denominator: ``[B, T]``, not negative.

    Returns:
        prefix and step, float64 ``[B, T]``; NaN where the denominator is 0.
    """
    prefix = _ratio(numerator.cumsum(dim=1), denominator.cumsum(dim=1))
    return prefix, _ratio(numerator, denominator)


def _ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    ratio = numerator.double() / denominator.double()
    return torch.where(denominator > 0, ratio, torch.full_like(ratio, torch.nan))
