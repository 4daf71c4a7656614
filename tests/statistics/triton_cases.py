"""What the triton path must do. `test_triton` runs this file in processes of its own.

Triton decides on import whether kernels are compiled or interpreted, and other tests import it.
WBGPU_TRITON_DEVICE says which device the frames are on; the interpreter takes seconds for a small
frame, so frames are tiny, and all groups are asked for at once.
"""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest
import torch

from tests.oracles.frame_pairs import adversarial_pairs, uniform_ssim
from tests.oracles.videos import make_video, to_torch
from tests.statistics.same_bits import assert_same_bits
from wbgpu.statistics import GROUPS, FrameBatch, FrameStatistics, frame_statistics

DEVICE = os.environ["WBGPU_TRITON_DEVICE"]
TOLERANCE = 1e-6


def make_batch(height: int, width: int, num_videos: int, num_steps: int) -> FrameBatch:
    videos = [
        make_video(i, event, num_steps, height, width)
        for i, event in enumerate(("noisy", "cut")[:num_videos])
    ]
    target, prediction, context = (
        torch.stack([to_torch(video[i]) for video in videos]).to(DEVICE) for i in range(3)
    )
    return FrameBatch.from_videos(prediction, target, context)


def select(batch: FrameBatch, rows: list[int]) -> FrameBatch:
    return FrameBatch(
        batch.target,
        batch.prediction,
        batch.row[rows],
        batch.previous_row[rows],
        batch.context,
        batch.context_row[rows],
    )


@functools.cache
def example() -> tuple[FrameBatch, FrameStatistics]:
    batch = make_batch(8, 12, num_videos=2, num_steps=2)
    return batch, frame_statistics(batch, GROUPS, "triton")


def assert_like_reference(batch: FrameBatch, got: FrameStatistics) -> None:
    reference = frame_statistics(batch, GROUPS, "reference")
    for name, value in got.present().items():
        expected = reference.require(name)
        assert value.dtype == expected.dtype
        assert value.device == expected.device
        if name in ("ssim", "dynamic_ssim_sum"):
            scale = reference.require("dynamic_ssim_count").clamp(min=1)
            tolerance = TOLERANCE * (scale if name == "dynamic_ssim_sum" else 1)
            close = (value - expected).abs() <= tolerance
            assert bool((close | (value.isnan() & expected.isnan())).all()), name
        else:
            assert torch.equal(value.nan_to_num(-1), expected.nan_to_num(-1)), name


@pytest.mark.parametrize(
    "size",
    [
        (7, 7),  # one window, one column a lane
        (8, 9),
        (7, 10),  # the least that a lane of four columns takes
        (15, 11),  # a second turn of the loop, which must stop at the last row
        (8, 40),  # aligned words; a lane steps back at the right border
        (7, 60),  # a second tile of columns
        (72, 10),  # a second tile of rows
    ],
    ids=str,
)
def test_every_statistic_is_the_references(size):
    """A row, column or tile lost, or counted twice, changes a sum."""
    batch = make_batch(*size, num_videos=1, num_steps=2 if size[0] < 70 else 1)
    assert_like_reference(batch, frame_statistics(batch, GROUPS, "triton"))


@pytest.mark.parametrize("size", [(1, 1), (5, 9), (6, 40), (40, 6)], ids=str)
def test_frames_under_the_window_have_sums_but_no_ssim(size):
    """Windows outside the frame would be read from another frame."""
    random = np.random.default_rng(0)
    frames = torch.from_numpy(random.integers(0, 256, (3, 1, 2, 3, *size), dtype=np.uint8))
    prediction, target, context = frames.to(DEVICE)
    batch = FrameBatch.from_videos(prediction, target, context[:, 0])
    got = frame_statistics(batch, GROUPS, "triton")
    assert_like_reference(batch, got)
    assert bool(got.require("ssim").isnan().all())


@pytest.mark.parametrize("size", [(7, 8), (7, 10)], ids=str)
def test_ssim_is_scikit_images_on_adversarial_frames(size):
    """Flat bright frames are where float32 cancels, and equal frames must score 1."""
    pairs = adversarial_pairs(*size)
    target, prediction = (
        torch.stack([to_torch(pair[i]) for pair in pairs.values()])[:, None].to(DEVICE)
        for i in range(2)
    )
    batch = FrameBatch.from_videos(prediction, target)
    got = frame_statistics(batch, frozenset({"ssim_uniform7"}), "triton").require("ssim")
    for (name, (x, y)), value in zip(pairs.items(), got.tolist(), strict=True):
        assert value == pytest.approx(uniform_ssim(x, y), abs=TOLERANCE), name
        if name in ("identical", "black", "all 255"):
            assert value == 1.0, name


def test_threshold_of_the_dynamic_region():
    """A difference of 16 is still, one of 17 moves, in either direction and any channel."""
    target = torch.full((1, 1, 3, 7, 8), 128, dtype=torch.uint8)
    context = target[:, 0].clone()
    for column, (channel, change) in enumerate(
        [(0, 16), (0, 17), (1, -16), (1, -17), (2, 16), (2, -128), (1, 127), (0, -100)]
    ):
        context[0, channel, 3, column] = 128 + change
    batch = FrameBatch.from_videos(target.to(DEVICE), target.to(DEVICE), context.to(DEVICE))
    got = frame_statistics(batch, GROUPS, "triton")
    assert got.require("dynamic_area").item() == 5
    # Windows have their centres in columns 3, which moves, and 4, which does not.
    assert got.require("dynamic_ssim_count").item() == 1
    assert got.require("dynamic_ssim_sum").item() == 1.0
    assert_like_reference(batch, got)


def test_largest_sums_are_exact():
    """Black against white is where bytes wrap and sums are largest."""
    black = torch.zeros((1, 2, 3, 8, 12), dtype=torch.uint8, device=DEVICE)
    target = torch.cat([black[:, :1], black[:, 1:] + 255], dim=1)
    batch = FrameBatch.from_videos(255 - target, target, black[:, 0])
    assert_like_reference(batch, frame_statistics(batch, GROUPS, "triton"))


def test_bits_do_not_depend_on_the_batch_or_the_order():
    """A score must not depend on what else was in the batch."""
    batch, whole = example()
    for rows in ([3, 1], [2]):
        assert_same_bits(whole[rows], frame_statistics(select(batch, rows), GROUPS, "triton"))


def test_bits_do_not_depend_on_the_memory_layout():
    """Frames of another decoder would score differently."""
    batch, whole = example()
    wide = torch.zeros((4, 8, 13, 3), dtype=torch.uint8, device=DEVICE)
    wide[:, :, 1:] = batch.prediction.permute(0, 2, 3, 1)
    assert batch.context is not None
    other = FrameBatch(
        batch.target.contiguous(),
        wide[:, :, 1:].permute(0, 3, 1, 2),
        batch.row,
        batch.previous_row,
        batch.context.contiguous(),
        batch.context_row,
    )
    assert_same_bits(whole, frame_statistics(other, GROUPS, "triton"))


@pytest.mark.parametrize(
    "groups",
    [
        {"squared_error"},
        {"frame_delta"},
        {"luma_moments"},
        {"persistence"},
        {"dynamic_region"},
        {"ssim_uniform7"},
        {"squared_error", "ssim_uniform7", "frame_delta"},
        {"ssim_gaussian11"},
    ],
    ids=lambda groups: "+".join(sorted(groups)),
)
def test_only_what_was_asked_for_is_computed(groups):
    """Each combination is another kernel; it must give the bits of all of them together."""
    batch, whole = example()
    alone = frame_statistics(batch, frozenset(groups), "triton").present()
    assert 1 < len(alone) < len(whole.present())
    for name, value in alone.items():
        assert torch.equal(value.nan_to_num(), whole.require(name).nan_to_num()), name


def test_rows_with_and_without_context_mix():
    """A row without context must not be compared with another episode's."""
    batch, whole = example()
    context_row = torch.tensor([0, -1, 1, -1], device=DEVICE)
    mixed = FrameBatch(
        batch.target,
        batch.prediction,
        batch.row,
        batch.previous_row,
        batch.context,
        context_row,
    )
    got = frame_statistics(mixed, GROUPS, "triton")
    assert_same_bits(whole[[0, 2]], got[[0, 2]])
    assert_like_reference(mixed, got)


def test_without_context_the_sums_against_it_are_zero():
    """Uninitialised memory would count as motion."""
    batch, _ = example()
    none = torch.full_like(batch.row, -1)
    without = FrameBatch(batch.target, batch.prediction, batch.row, none, None, none)
    got = frame_statistics(without, GROUPS, "triton")
    assert got.require("dynamic_area").tolist() == [0] * 4
    assert_like_reference(without, got)


def test_no_rows_give_empty_statistics():
    """An empty last window would end an evaluation."""
    batch, whole = example()
    got = frame_statistics(select(batch, []), GROUPS, "triton")
    assert got.shape == (0,)
    assert got.present().keys() == whole.present().keys()
