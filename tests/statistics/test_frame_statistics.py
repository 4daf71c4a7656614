"""FrameStatistics is a table: indexing, reshaping and joining treat all columns alike."""

from __future__ import annotations

import pytest
import torch

from wbgpu.statistics import FrameStatistics

TABLE = FrameStatistics(num_values=torch.arange(6), ssim=torch.arange(6.0, dtype=torch.float64))


def test_reshape_and_index_keep_columns_together():
    """A column left behind would give one episode the numbers of another."""
    table = TABLE.reshape(2, 3)
    assert table.shape == (2, 3)
    assert table[1].require("ssim").tolist() == [3.0, 4.0, 5.0]
    assert table[1].num_values.tolist() == [3, 4, 5]
    assert set(table.present()) == {"num_values", "ssim"}


def test_parts_joined_are_the_whole():
    """The evaluation joins an episode's windows this way."""
    parts = [TABLE[:2], TABLE[2:5], TABLE[5:]]
    joined = FrameStatistics.cat(parts)
    assert joined.require("ssim").tolist() == TABLE.require("ssim").tolist()
    assert joined.squared_error_sum is None


def test_a_missing_statistic_is_named():
    """None would fail far away, in a metric's arithmetic."""
    with pytest.raises(ValueError, match="'luma_ssim' was not computed"):
        TABLE.require("luma_ssim")
    with pytest.raises(ValueError, match=r"no statistic 'prediction_delta'.*prediction_delta_sum"):
        TABLE.require("prediction_delta")
    with pytest.raises(ValueError, match="'ssim' was not computed"):
        FrameStatistics.cat([TABLE, FrameStatistics(num_values=torch.arange(2))])


def test_to_moves_every_column():
    """One left on the GPU would fail at the first comparison."""
    assert {v.device.type for v in TABLE.to("meta").present().values()} == {"meta"}
