"""Lists of frames among a metric's details, one for each prefix."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

MAX_LISTED_PREFIXES = 256
"""Lists of all prefixes grow with the square of an episode's length; past so many steps only the
whole episode has one."""


def prefix_lists(
    mask: Tensor, available: Sequence[bool], *, first: int = 0
) -> tuple[tuple[int, ...] | None, ...]:
    """Indices of the entries of ``mask [T]`` that are true, for every prefix.

    Args:
        mask: bool ``[T]``; or ``[T, T]``, whose row t is the mask of the prefix that ends there.
        available: of each prefix; ``None`` stands where it is false, and past
            `MAX_LISTED_PREFIXES` everywhere but at the end.
        first: the index of the first entry.
    """
    num_steps = len(available)
    columns: list[tuple[int, ...] | None] = []
    found = (mask.nonzero()[:, 0] + first).tolist() if mask.ndim == 1 else []
    counts = mask.cumsum(dim=0).tolist() if mask.ndim == 1 else []
    for index, has_value in enumerate(available):
        if not has_value or (index >= MAX_LISTED_PREFIXES and index < num_steps - 1):
            columns.append(None)
        elif mask.ndim == 1:
            columns.append(tuple(found[: counts[index]]))
        else:
            row = mask[index, : index + 1]
            columns.append(tuple((torch.nonzero(row)[:, 0] + first).tolist()))
    return tuple(columns)
