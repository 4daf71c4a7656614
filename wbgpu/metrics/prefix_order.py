"""Order statistics of every prefix of a sequence in O(T log T).

A wavelet matrix (Claude, Navarro, Ordonez, "The wavelet matrix", 2015) over the ranks of the
values: one level per bit of the rank, the highest first; each level stores, for every position,
how many earlier entries have a 0 there, and passes the entries on with all zeros before all ones.
A query descends the levels with the bounds of its range.
"""

from __future__ import annotations

import torch
from torch import Tensor


class PrefixOrder:
    """Order statistics of the first n of ``values [B, T]``, for n = 1..T.

    Args:
        values: float64 ``[B, T]``, T >= 1, finite.
    """

    def __init__(self, values: Tensor) -> None:
        self._sorted, order = torch.sort(values, dim=1, stable=True)
        length = values.shape[1]
        ranks = torch.empty_like(order)
        positions = torch.arange(length, device=values.device).expand_as(order)
        ranks.scatter_(1, order, positions)
        self._num_bits = max(1, (length - 1).bit_length())
        self._length = length
        self._zeros_before: list[Tensor] = []
        self._num_zeros: list[Tensor] = []
        for level in reversed(range(self._num_bits)):
            is_zero = (ranks >> level) & 1 == 0
            zeros_through = is_zero.cumsum(dim=1)
            before = torch.nn.functional.pad(zeros_through, (1, 0))
            num_zeros = zeros_through[:, -1:]
            one_target = num_zeros + positions - before[:, :-1]
            target = torch.where(is_zero, before[:, :-1], one_target)
            ranks = torch.empty_like(ranks).scatter_(1, target, ranks)
            self._zeros_before.append(before)
            self._num_zeros.append(num_zeros)

    def smallest(self, index: Tensor) -> Tensor:
        """The ``index[:, n-1]``-th smallest (from 0) of the first n values.

        Args:
            index: int64 ``[B, T]``, with ``0 <= index[:, n-1] < n``.
        """
        low, high = self._whole_prefixes(index)
        rank, wanted = torch.zeros_like(index), index
        for before, num_zeros in zip(self._zeros_before, self._num_zeros, strict=True):
            low_zeros, high_zeros = before.gather(1, low), before.gather(1, high)
            num_below = high_zeros - low_zeros
            is_one = wanted >= num_below
            rank = rank * 2 + is_one
            wanted = torch.where(is_one, wanted - num_below, wanted)
            low = torch.where(is_one, num_zeros + low - low_zeros, low_zeros)
            high = torch.where(is_one, num_zeros + high - high_zeros, high_zeros)
        return self._sorted.gather(1, rank)

    def median(self) -> Tensor:
        """Medians of the prefixes, float64 ``[B, T]``; the mean of the middle two for even n."""
        n = torch.arange(1, self._length + 1, device=self._sorted.device).expand_as(self._sorted)
        lower, upper = self.smallest((n - 1) // 2), self.smallest(n // 2)
        return (lower + upper) / 2

    def count_above(self, threshold: Tensor) -> Tensor:
        """How many of the first n values exceed ``threshold[:, n-1]``, int64 ``[B, T]``."""
        rank = torch.searchsorted(self._sorted, threshold.contiguous(), right=True)
        low, high = self._whole_prefixes(rank)
        n = high
        count = torch.zeros_like(rank)
        for i, (before, num_zeros) in enumerate(
            zip(self._zeros_before, self._num_zeros, strict=True)
        ):
            is_one = (rank >> (self._num_bits - 1 - i)) & 1 == 1
            low_zeros, high_zeros = before.gather(1, low), before.gather(1, high)
            count = torch.where(is_one, count + high_zeros - low_zeros, count)
            low = torch.where(is_one, num_zeros + low - low_zeros, low_zeros)
            high = torch.where(is_one, num_zeros + high - high_zeros, high_zeros)
        # A rank of 2^bits, above all values, has no bit on any level.
        count = torch.where(rank >= 1 << self._num_bits, n, count)
        return n - count

    def _whole_prefixes(self, like: Tensor) -> tuple[Tensor, Tensor]:
        high = torch.arange(1, self._length + 1, device=like.device).expand_as(like)
        return torch.zeros_like(like), high
