"""The fast CPU path: threads, memory layouts, how frames are cut, which registers it runs on."""

from __future__ import annotations

import dataclasses
import os
import platform
import subprocess
import sys

import pytest
import torch

from tests.oracles.frame_pairs import adversarial_pairs
from tests.oracles.videos import make_video, to_torch
from tests.statistics.same_bits import assert_same_bits
from wbgpu.statistics import GROUPS, FrameBatch, FrameStatistics, frame_statistics


def _batch(num_episodes: int, height: int, width: int) -> FrameBatch:
    videos = [make_video(i, "noisy", 5, height, width) for i in range(num_episodes)]
    target, prediction, context = (
        torch.stack([to_torch(video[i]) for video in videos]) for i in range(3)
    )
    return FrameBatch.from_videos(prediction, target, context)


@pytest.mark.parametrize("side", ["whole", "region"])
def test_the_worst_ssim_in_a_whole_block(side):
    """Deficits are added in 32 bits, in two halves; a row of the largest must not overflow."""
    checkers = (torch.arange(20)[:, None] + torch.arange(700)) % 2 * 255
    target = checkers.to(torch.uint8).expand(1, 1, 3, 20, 700)
    context = (255 - target[0]) if side == "region" else target[0]
    batch = FrameBatch.from_videos(255 - target, target, context)
    groups = frozenset({"ssim_uniform7", "dynamic_region"})
    fast, reference = (frame_statistics(batch, groups, path) for path in ("cpu", "reference"))
    assert float(fast.require("ssim")) == pytest.approx(float(reference.require("ssim")), abs=1e-6)
    assert float(fast.require("ssim")) < -0.99
    count = fast.require("dynamic_ssim_count")
    assert int(count) == (14 * 694 if side == "region" else 0)
    expected = float(reference.require("dynamic_ssim_sum"))
    assert float(fast.require("dynamic_ssim_sum")) == pytest.approx(expected, abs=1e-6 * 14 * 694)


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
        raise MemoryError("no memory for a frame")

    batch = _batch(1, 8, 8)
    torch.set_num_threads(2)
    monkeypatch.setattr("wbgpu.statistics.cpu_kernel.frame_sums", fail)
    with pytest.raises(MemoryError, match="no memory for a frame"):
        frame_statistics(batch, GROUPS, "cpu")


# A block of columns is 1,020 values, 18 of them seen twice where there are windows.
@pytest.mark.parametrize(
    "size",
    [(7, 334), (8, 335), (7, 340), (9, 341), (6, 341), (7, 4000), (90, 7), (8, 1010), (3, 2100)],
    ids=str,
)
def test_blocks_cover_awkward_sizes(size):
    """A column lost or counted twice where blocks meet would change a sum."""
    batch = _batch(1, *size)
    groups = GROUPS - {"ssim_gaussian11"}
    fast = frame_statistics(batch, groups, "cpu")
    reference = frame_statistics(batch, groups, "reference")
    for name, expected in reference.present().items():
        got = fast.require(name)
        if expected.dtype == torch.float64:
            scale = reference.require("dynamic_ssim_count").clamp(min=1)
            scale = scale if name == "dynamic_ssim_sum" else torch.ones_like(scale)
            close = (got - expected).abs() <= 2e-7 * scale
            assert bool((close | (got.isnan() & expected.isnan())).all()), name
        else:
            assert torch.equal(got, expected), name


# A block of columns is 510 values, 30 of them seen twice.
@pytest.mark.parametrize("size", [(11, 170), (12, 171), (11, 1000), (60, 11)], ids=str)
def test_blocks_of_gaussian_windows_cover_awkward_sizes(size):
    """A column of windows lost or counted twice would show far above 1e-8."""
    pairs = adversarial_pairs(*size).values()
    target, prediction = (torch.stack([to_torch(pair[i]) for pair in pairs]) for i in range(2))
    batch = FrameBatch.from_videos(prediction[:, None], target[:, None])
    fast, reference = (
        frame_statistics(batch, frozenset({"ssim_gaussian11"}), path).require("ssim_gaussian")
        for path in ("cpu", "reference")
    )
    assert bool(((fast - reference).abs() <= 1e-8).all())


def _strided(frames: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values ``[F, 3, H, W]`` with other strides."""
    if layout == "channels first":
        return frames.contiguous()
    if layout == "cropped":
        larger = torch.nn.functional.pad(frames, (2, 3, 4, 5))
        return larger.to(memory_format=torch.channels_last)[..., 4:-5, 2:-3]
    if layout == "mirrored twice":
        return (
            frames.contiguous()
            .flip(-1)
            .permute(0, 1, 3, 2)
            .contiguous()
            .permute(0, 1, 3, 2)
            .flip(-1)
        )
    if layout == "every second frame":
        return frames.to(memory_format=torch.channels_last).repeat_interleave(2, 0)[::2]
    if layout == "BGR planes":
        return frames.flip(1).permute(1, 0, 2, 3).contiguous().permute(1, 0, 2, 3).flip(1)
    return frames.to(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    "layout", ["channels first", "cropped", "mirrored twice", "every second frame", "BGR planes"]
)
@pytest.mark.parametrize("video", ["target", "prediction", "context"])
def test_any_strides_give_the_same_bits(layout, video):
    """Strides read as if frames were dense would compare other pixels."""
    plain = _batch(3, 12, 15)
    expected = frame_statistics(plain, GROUPS, "cpu")
    videos = {name: getattr(plain, name) for name in ("target", "prediction", "context")}
    for changed in ([video], list(videos)):
        strided = {n: _strided(v, layout) if n in changed else v for n, v in videos.items()}
        assert all(torch.equal(strided[name], videos[name]) for name in videos)
        batch = dataclasses.replace(plain, **strided)
        assert_same_bits(expected, frame_statistics(batch, GROUPS, "cpu"))


def test_frames_repeated_without_copies():
    """A stride of zero, as `expand` gives a still video."""
    plain = _batch(1, 12, 15)
    still = plain.target[:1].expand(5, -1, -1, -1)
    copied = dataclasses.replace(plain, target=still.clone(memory_format=torch.channels_last))
    assert_same_bits(
        frame_statistics(copied, GROUPS, "cpu"),
        frame_statistics(dataclasses.replace(plain, target=still), GROUPS, "cpu"),
    )


_SAVE_BITS = """
import sys
import torch
from wbgpu.statistics import GROUPS, FrameBatch, frame_statistics
batch = FrameBatch(**torch.load(sys.argv[1]))
torch.save(frame_statistics(batch, GROUPS, "cpu").present(), sys.argv[2])
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names an x86-64 processor")
def test_bits_do_not_depend_on_the_vector_registers(tmp_path):
    """A fused multiply-add, or sums in another order, would make machines disagree."""
    batch = _batch(2, 40, 400)
    expected = frame_statistics(batch, GROUPS, "cpu")
    torch.save(vars(batch), tmp_path / "batch.pt")
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run(
        [sys.executable, "-c", _SAVE_BITS, tmp_path / "batch.pt", tmp_path / "out.pt"],
        env=environment,
        check=True,
    )
    assert_same_bits(expected, FrameStatistics(**torch.load(tmp_path / "out.pt")))
