"""The fast CPU path: threads, memory and how frames are cut."""

from __future__ import annotations

import pytest
import torch

from tests.oracles.videos import make_video, to_torch
from tests.statistics.same_bits import assert_same_bits
from wbgpu.statistics import GROUPS, FrameBatch, frame_statistics


def _batch(num_episodes: int, height: int, width: int) -> FrameBatch:
    videos = [make_video(i, "noisy", 5, height, width) for i in range(num_episodes)]
    target, prediction, context = (
        torch.stack([to_torch(video[i]) for video in videos]) for i in range(3)
    )
    return FrameBatch.from_videos(prediction, target, context)


@pytest.mark.parametrize("size", [(8, 9), (150, 130)], ids=str)
def test_bits_do_not_depend_on_the_number_of_threads(restore_num_threads, size):
    """Scores would differ between machines."""
    batch = _batch(3, *size)
    torch.set_num_threads(1)
    one = frame_statistics(batch, GROUPS, "cpu")
    for num_threads in (2, 3, 7):
        torch.set_num_threads(num_threads)
        assert_same_bits(one, frame_statistics(batch, GROUPS, "cpu"))
        assert torch.get_num_threads() == num_threads


def test_an_error_in_a_thread_reaches_the_caller(restore_num_threads, monkeypatch):
    """Frames that were not processed would score as zeros."""

    def fail(*arguments: object) -> None:
        raise MemoryError("no memory for a tile")

    batch = _batch(1, 8, 8)
    torch.set_num_threads(2)
    monkeypatch.setattr("wbgpu.statistics.cpu_scratch.FrameScratch.process", fail)
    with pytest.raises(MemoryError, match="no memory for a tile"):
        frame_statistics(batch, GROUPS, "cpu")


def test_frames_of_changing_sizes_do_not_share_scratch_memory():
    """Scratch is kept between calls; another size or group in between must not leak into it."""
    small, large = _batch(1, 9, 9), _batch(1, 40, 33)
    first = [frame_statistics(batch, GROUPS, "cpu") for batch in (small, large)]
    some = frozenset({"squared_error", "dynamic_region"})
    for batch, expected in zip((small, large, small, large), first * 2, strict=True):
        partial = frame_statistics(batch, some, "cpu")
        assert torch.equal(
            partial.require("dynamic_ssim_sum"), expected.require("dynamic_ssim_sum")
        )
        assert_same_bits(expected, frame_statistics(batch, GROUPS, "cpu"))


@pytest.mark.parametrize("size", [(129, 7), (134, 8), (135, 300), (7, 4000), (300, 7)], ids=str)
def test_strips_cover_awkward_sizes(size):
    """A row lost or counted twice where strips meet would change a sum."""
    batch = _batch(1, *size)
    groups = GROUPS - {"ssim_gaussian11"}
    fast = frame_statistics(batch, groups, "cpu")
    reference = frame_statistics(batch, groups, "reference")
    for name, expected in reference.present().items():
        if expected.dtype == torch.float64:
            scale = reference.require("dynamic_ssim_count").clamp(min=1)
            scale = scale if name == "dynamic_ssim_sum" else torch.ones_like(scale)
            assert bool(((fast.require(name) - expected).abs() <= 1e-6 * scale).all()), name
        else:
            assert torch.equal(fast.require(name), expected), name
