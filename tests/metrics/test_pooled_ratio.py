"""A ratio of sums, not a mean of ratios."""

from __future__ import annotations

import math

import torch

from wbgpu.metrics.pooled_ratio import pooled_ratio


def test_a_prefix_is_the_ratio_of_its_sums():
    """The mean of the steps' ratios would be 2, not 2.5."""
    prefix, step = pooled_ratio(torch.tensor([[1, 9]]), torch.tensor([[1, 3]]))
    assert step.tolist() == [[1.0, 3.0]]
    assert prefix.tolist() == [[1.0, 10 / 4]]


def test_nothing_over_nothing_is_undefined_not_zero():
    """Zero would be a perfect error where nothing was measured."""
    prefix, step = pooled_ratio(torch.tensor([[0, 2]]), torch.tensor([[0, 4]]))
    assert math.isnan(prefix[0, 0])
    assert math.isnan(step[0, 0])
    assert prefix[0, 1] == 0.5


def test_integers_beyond_float32_add_exactly():
    """Converted to floats before the sum, they would lose the ones."""
    large = torch.full((1, 3), 2**53)
    prefix, _ = pooled_ratio(large + torch.tensor([[0, 1, 1]]), torch.tensor([[0, 0, 2]]))
    assert prefix[0, 2].item() == (3 * 2**53 + 2) / 2
