"""Sums become the statistics they are the sums of, whichever kernel made them."""

from __future__ import annotations

import pytest
import torch

from wbgpu.statistics import GROUPS, FrameBatch
from wbgpu.statistics.integer_sums import mean_ssim, statistics_of_sums

FIXED_POINT = 1 << 20
NAMES = (
    "squared_error_sum",
    "target_delta_sum",
    "prediction_delta_sum",
    "persistence_squared_error_sum",
    "dynamic_area",
    "dynamic_squared_error_sum",
    "dynamic_persistence_squared_error_sum",
    "dynamic_ssim_count",
)


def _batch() -> FrameBatch:
    frames = torch.zeros((1, 2, 3, 9, 8), dtype=torch.uint8)
    return FrameBatch.from_videos(frames, frames, frames[:, 0])


def _sums() -> dict[str, torch.Tensor]:
    luma = {f"luma_{name}": torch.zeros(2, dtype=torch.int64) for name in ("x", "y")}
    luma |= {f"luma_{name}": torch.zeros(2, dtype=torch.int64) for name in ("xx", "yy", "xy")}
    of_frames = {name: torch.tensor([i, 10 + i]) for i, name in enumerate(NAMES)}
    deficits = torch.tensor([0, 9 * FIXED_POINT // 2])
    return of_frames | luma | {"half_deficit": deficits, "dynamic_half_deficit": deficits}


def test_each_sum_is_the_field_of_its_name():
    """Two sums swapped would score one metric as another."""
    sums = _sums()
    found = statistics_of_sums(_batch(), GROUPS, sums, FIXED_POINT, torch.tensor([0.5, 0.25]))
    for name in NAMES:
        assert torch.equal(found.require(name), sums[name]), name
    assert found.num_values.tolist() == [216, 216]
    assert found.require("has_previous").tolist() == [False, True]
    assert found.require("has_context").tolist() == [True, True]
    assert found.require("ssim_gaussian").tolist() == [0.5, 0.25]
    assert found.require("luma_ssim").tolist() == [1.0, 1.0]


def test_ssim_of_halved_deficits():
    """9 of 18 lost, over 3 x 2 windows of 3 channels; of the region, as a mean over channels."""
    found = statistics_of_sums(_batch(), GROUPS, _sums(), FIXED_POINT, None)
    assert found.require("ssim").tolist() == [1.0, 0.5]
    assert found.require("dynamic_ssim_sum").tolist() == [7.0, 17.0 - 3.0]


@pytest.mark.parametrize("group", sorted(GROUPS - {"ssim_gaussian11"}))
def test_only_the_fields_of_a_group(group):
    """A field that was not asked for holds zeros; given out, they would be taken for values."""
    found = statistics_of_sums(_batch(), frozenset({group}), _sums(), FIXED_POINT, None)
    num_fields = {"frame_delta": 3, "persistence": 2, "dynamic_region": 6}.get(group, 1)
    assert len(found.present()) == 1 + num_fields


def test_no_window_has_no_mean():
    """Zero would be the worst score, one the best."""
    assert bool(mean_ssim(torch.zeros(2), FIXED_POINT, 6, 40, 7).isnan().all())
