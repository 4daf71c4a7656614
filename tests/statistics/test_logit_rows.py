"""Rows of any layout, chunks and indices."""

from __future__ import annotations

import pytest
import torch

from wbgpu.statistics.logit_rows import (
    MAX_CHUNK_ELEMENTS,
    contiguous_rows,
    first_row,
    flat_memory,
    row_chunks,
    row_views,
)


@pytest.mark.parametrize(
    ("num_rows", "num_classes"),
    [(1, 1), (7, 3), (4096, 262_144), (43 * 2047, 50_000), (3, 2**31 - 1), (0, 5)],
)
def test_chunks_cover_every_row_once_and_stay_small(num_rows, num_classes):
    """Past 2^31 elements, an operator's 32-bit index would read elsewhere (pytorch #111484)."""
    chunks = list(row_chunks(num_rows, num_classes))
    assert [chunk.start for chunk in chunks[1:]] == [chunk.stop for chunk in chunks[:-1]]
    assert sum(chunk.stop - chunk.start for chunk in chunks) == num_rows
    for chunk in chunks:
        elements = (chunk.stop - chunk.start) * num_classes
        assert elements <= max(MAX_CHUNK_ELEMENTS, num_classes) < 2**31


def views():
    memory = torch.arange(2 * 5 * 4 * 7).reshape(2, 5, 4, 7)
    return {
        "whole": memory,
        "one row": memory[0, 0, 0],
        "steps cut": memory[:, 1:3],
        "tokens cut": memory[:, :, 1:3],
        "classes cut": memory[..., 1:4],
        "every other step": memory[:, ::2],
        "classes apart": memory[..., ::2],
        "turned": memory.permute(3, 1, 0, 2),
        "expanded": memory[:, :1].expand(2, 3, 4, 7),
        "nothing": memory[:0],
        "one class": memory[..., :1],
    }


@pytest.mark.parametrize("name", list(views()))
def test_rows_are_those_of_reshape(name):
    """Rows in another order would be scored against other targets."""
    values = views()[name]
    expected = values.reshape(-1, values.shape[-1])
    rows = row_views(values)
    assert torch.equal(torch.cat([*rows, expected[:0]]), expected)
    assert all(row.data_ptr() >= values.data_ptr() for row in rows), "views, no copies"
    pieces = list(contiguous_rows(values))
    assert torch.equal(torch.cat([*pieces, expected[:0]]), expected)
    for piece in pieces:
        flat, stride = flat_memory(piece), piece.stride(0)
        for row in range(len(piece)):
            start = row * stride
            assert torch.equal(flat[start : start + piece.shape[1]], piece[row])


def test_a_whole_tensor_is_one_view():
    """A kernel for each episode would be launched thousands of times."""
    assert len(row_views(torch.zeros(50, 3, 4, 7))) == 1


def test_the_first_bad_row_is_named():
    """An index into the flattened rows would leave its reader to calculate."""
    bad = torch.zeros((2, 3, 4), dtype=torch.bool)
    bad[1, 2, 0] = bad[1, 2, 3] = True
    assert first_row(bad) == (1, 2, 0)
    assert first_row(torch.tensor(True)) == ()
