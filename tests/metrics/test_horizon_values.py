"""Helpers of values by horizon."""

from __future__ import annotations

import math

import torch

from wbgpu.metrics.horizon_values import HorizonValues, prefix_mean


def test_prefix_mean_is_a_mean_of_the_first_steps():
    """Float32 or a mean over all T steps would move every metric built on it."""
    means = prefix_mean(torch.tensor([[1.0, 3.0, 8.0]]))
    assert means.tolist() == [[1.0, 2.0, 4.0]]
    assert means.dtype == torch.float64


def test_steps_that_do_not_exist_have_no_value():
    """Padding would be scored as if it were a prediction."""
    values = HorizonValues(torch.ones(1, 2).double(), torch.ones(1, 2).double())
    masked = values.where_valid(torch.tensor([[True, False]]))
    assert masked.prefix[0, 0] == 1
    assert math.isnan(masked.prefix[0, 1])
    assert math.isnan(masked.step[0, 1])
