"""Order statistics of prefixes against NumPy on each prefix."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wbgpu.metrics.prefix_order import PrefixOrder

# Few distinct values make ties, which a wrong rank order would get wrong.
sequences = st.lists(
    st.sampled_from([0.0, 0.5, 1.0, 7.0, 18.0, 18.5, 60.0]), min_size=1, max_size=40
)


@settings(max_examples=100, deadline=None)
@given(values=sequences, threshold=st.sampled_from([-1.0, 0.0, 0.7, 18.0, 60.0, 99.0]))
def test_medians_and_counts_are_those_of_each_prefix(values, threshold):
    """A wrong median moves the jump threshold, and with it whole scores."""
    order = PrefixOrder(torch.tensor([values, values[::-1]], dtype=torch.float64))
    medians = order.median()
    counts = order.count_above(torch.full((2, len(values)), threshold, dtype=torch.float64))
    for row, sequence in enumerate((values, values[::-1])):
        for n in range(1, len(values) + 1):
            assert medians[row, n - 1].item() == np.median(sequence[:n])
            assert counts[row, n - 1].item() == sum(v > threshold for v in sequence[:n])


def test_every_order_statistic_of_a_long_sequence():
    """Short sequences do not use all levels of the wavelet matrix."""
    values = torch.rand(1, 300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    order = PrefixOrder(values)
    n = torch.arange(1, 301)
    for index in (torch.zeros_like(n), n - 1, (n - 1) * 2 // 3):
        got = order.smallest(index[None])[0]
        expected = [values[0, :k].sort().values[i] for k, i in zip(n, index, strict=True)]
        assert got.tolist() == [e.item() for e in expected]
