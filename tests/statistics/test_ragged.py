"""Episodes of different lengths side by side."""

from __future__ import annotations

import pytest
import torch

from wbgpu.statistics import FrameStatistics, RaggedStatistics


def episode(num_steps: int, first: int) -> FrameStatistics:
    column = torch.arange(first, first + num_steps)
    return FrameStatistics(
        num_values=torch.full((num_steps,), 12),
        squared_error_sum=column,
        ssim=column.double(),
        has_previous=column > first,
    ).reshape(1, -1)


def test_each_episode_stands_in_its_row_from_the_left():
    """A step in another episode's row, or moved by one, would score the wrong frames."""
    episodes = [episode(3, 10), episode(1, 20), episode(5, 30)]
    ragged = RaggedStatistics.of(episodes)
    assert ragged.statistics.shape == (3, 5)
    assert ragged.valid.sum(1).tolist() == [3, 1, 5]
    for index, alone in enumerate(episodes):
        row = ragged.statistics[index][ragged.valid[index]]
        assert set(row.present()) == set(alone.present())
        for name, values in row.present().items():
            assert torch.equal(values, alone.require(name)[0])
            assert values.dtype == alone.require(name).dtype


def test_padding_has_values_to_divide_by_and_no_difference():
    """A frame of no values would make NaN, which a cumulative sum could carry on."""
    padded = RaggedStatistics.of([episode(1, 10), episode(2, 20)]).statistics[0, 1]
    assert padded.num_values == 1
    assert padded.require("squared_error_sum") == 0
    assert not padded.require("has_previous")


@pytest.mark.parametrize(
    "bad", [episode(4, 0).reshape(2, 2), episode(3, 0).reshape(3), episode(2, 0)[:, :0]]
)
def test_what_is_not_one_episode_is_refused(bad: FrameStatistics):
    """Two episodes in one entry would be scored as one."""
    with pytest.raises(ValueError, match=r"of episode 1: expected one episode, \[1, T\]"):
        RaggedStatistics.of([episode(2, 0), bad])


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        RaggedStatistics.of([])
