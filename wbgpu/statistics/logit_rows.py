"""Logits ``[..., K]`` of any strides as rows, without a copy of their size."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

MAX_CHUNK_ELEMENTS = 1 << 18
"""Elements that are copied at once; at least a row."""


class RowError(ValueError):
    """A row of a forecast, a target or a reference is not legal.

    Attributes:
        subject: what is not, such as ``logits of 'block'``.
        row: its index.
        reason: what was expected and what came.
        advice: what whoever made the call can do; may be empty.
    """

    def __init__(self, subject: str, row: tuple[int, ...], reason: str, advice: str = "") -> None:
        ending = f"; {advice}" if advice else ""
        super().__init__(f"{subject} row {list(row)}: {reason}{ending}")
        self.subject = subject
        self.row = row
        self.reason = reason
        self.advice = advice

    def __reduce__(self) -> tuple[type[RowError], tuple[str, tuple[int, ...], str, str]]:
        # An exception is rebuilt from its message alone, which does not fit __init__.
        return type(self), (self.subject, self.row, self.reason, self.advice)


def row_views(values: Tensor) -> list[Tensor]:
    """Views ``[n, K]`` that, one after the other, are the rows of ``values [..., K]``.

    One view where the leading dimensions lie evenly in memory, as those of a whole tensor do, and
    several where they do not, as after ``values[:, :-1]``.
    """
    if not values.numel():
        return []
    if values.ndim == 1:
        return [values[None]]
    try:
        return [values.view(values.shape[:-1].numel(), values.shape[-1])]
    except RuntimeError:
        return [view for part in values.unbind(0) for view in row_views(part)]


def row_chunks(
    num_rows: int, num_classes: int, max_elements: int = MAX_CHUNK_ELEMENTS
) -> Iterator[slice]:
    """Slices of rows with ``max_elements`` elements at most, or of one row."""
    step = max(1, max_elements // num_classes)
    for start in range(0, num_rows, step):
        yield slice(start, min(start + step, num_rows))


def contiguous_rows(values: Tensor) -> Iterator[Tensor]:
    """The rows of ``values [..., K]`` in pieces ``[n, K]`` whose classes lie side by side.

    Pieces are views where they can be, and else copies of a chunk.
    """
    for view in row_views(values):
        if view.stride(1) == 1 or view.shape[1] == 1:
            yield view
        else:
            for chunk in row_chunks(*view.shape):
                yield view[chunk].contiguous()


def flat_memory(rows: Tensor) -> Tensor:
    """1-D view of a piece's memory: class k of row r is at ``r * rows.stride(0) + k``."""
    span = (rows.shape[0] - 1) * rows.stride(0) + rows.shape[1]
    return rows.as_strided((span,), (1,))


def first_row(is_bad: Tensor) -> tuple[int, ...]:
    """Index of the first True of a bool tensor ``[...]`` that has one."""
    flat = is_bad.reshape(-1)
    # Not argmax of bool, which CUDA lacks in some versions.
    position = int(torch.nonzero(flat)[0])
    index = []
    for size in reversed(is_bad.shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))
