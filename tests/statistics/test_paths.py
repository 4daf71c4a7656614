"""One suite for every implementation of the statistics: same numbers, same invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import frame_loops
from tests.oracles.frame_pairs import adversarial_pairs, gaussian_ssim, uniform_ssim
from tests.oracles.videos import make_video, to_torch
from tests.statistics.same_bits import assert_same_bits
from wbgpu.statistics import GROUPS, FrameBatch, frame_statistics

SSIM_TOLERANCE = 1e-6
SIZES = [(7, 7), (7, 500), (9, 33), (48, 61), (400, 8), (64, 48), (256, 256)]


def _pairs_batch(pairs: list[tuple[np.ndarray, np.ndarray]], device: str) -> FrameBatch:
    target = torch.stack([to_torch(x) for x, _ in pairs])[:, None]
    prediction = torch.stack([to_torch(y) for _, y in pairs])[:, None]
    return FrameBatch.from_videos(prediction.to(device), target.to(device))


def _batch(videos: list[tuple[np.ndarray, np.ndarray, np.ndarray]], device: str) -> FrameBatch:
    target, prediction, context = (
        torch.stack([to_torch(video[i]) for video in videos]).to(device) for i in range(3)
    )
    return FrameBatch.from_videos(prediction, target, context)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_ssim_is_scikit_images_on_adversarial_frames(path_and_device, size):
    """Flat bright frames are where float32 cancels and padding shows."""
    path, device = path_and_device
    pairs = adversarial_pairs(*size)
    batch = _pairs_batch(list(pairs.values()), device)
    got = frame_statistics(batch, frozenset({"ssim_uniform7"}), path).require("ssim").tolist()
    for (name, (target, prediction)), value in zip(pairs.items(), got, strict=True):
        assert value == pytest.approx(uniform_ssim(target, prediction), abs=SSIM_TOLERANCE), name
        if name in ("identical", "black", "all 255"):
            assert value == 1.0, name


@pytest.mark.parametrize("size", [(11, 11), (12, 33), (64, 48), (150, 20), (256, 256)], ids=str)
def test_gaussian_ssim_is_scikit_images_on_adversarial_frames(path_and_device, size):
    """Flat bright frames are where float32 cancels and padding shows."""
    path, device = path_and_device
    pairs = adversarial_pairs(*size)
    batch = _pairs_batch(list(pairs.values()), device)
    statistics = frame_statistics(batch, frozenset({"ssim_gaussian11"}), path)
    got = statistics.require("ssim_gaussian").tolist()
    for (name, (target, prediction)), value in zip(pairs.items(), got, strict=True):
        assert value == pytest.approx(gaussian_ssim(target, prediction), abs=SSIM_TOLERANCE), name
        if name in ("identical", "black", "all 255"):
            assert value == 1.0, name


@pytest.mark.parametrize("event", ["noisy", "frozen", "cut", "inverted"])
def test_every_statistic_is_that_of_a_loop_over_pixels(path_and_device, event):
    """Every field, against code that anybody can check by eye."""
    path, device = path_and_device
    target, prediction, context = make_video(3, event, num_steps=3, height=8, width=11)
    got = frame_statistics(_batch([(target, prediction, context)], device), GROUPS, path)
    for t in range(3):
        x, y = target[t], prediction[t]
        expected = {
            "num_values": 3 * 8 * 11,
            "squared_error_sum": frame_loops.squared_error_sum(x, y),
            "persistence_squared_error_sum": frame_loops.squared_error_sum(x, context),
            "target_delta_sum": frame_loops.delta_sum(x, target[t - 1]) if t else 0,
            "prediction_delta_sum": frame_loops.delta_sum(y, prediction[t - 1]) if t else 0,
            "has_previous": t > 0,
            "has_context": True,
            "ssim": frame_loops.mean_ssim(x, y),
            **frame_loops.dynamic_statistics(x, y, context),
        }
        for name, value in expected.items():
            tolerance = {"ssim": 1e-6, "dynamic_ssim_sum": 1e-6 * 88}.get(name, 0)
            assert got.require(name)[t].item() == pytest.approx(value, abs=tolerance), name


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    num_steps=st.integers(1, 5),
)
def test_fast_and_reference_paths_agree(seed, height, width, num_steps):
    """The path would decide scores; sizes below the windows included."""
    random = np.random.default_rng(seed)
    spread = int(random.integers(1, 256))
    target = random.integers(0, 256, (2, num_steps, height, width, 3))
    prediction = target + random.integers(-spread, spread + 1, target.shape)
    context = target[:, 0] + random.integers(-20, 21, target[:, 0].shape)
    target, prediction, context = (
        to_torch(np.clip(v, 0, 255).astype(np.uint8)) for v in (target, prediction, context)
    )
    batch = FrameBatch.from_videos(prediction, target, context)
    reference = frame_statistics(batch, GROUPS, "reference")
    fast = frame_statistics(batch, GROUPS, "cpu")
    for name, expected in reference.present().items():
        got = fast.require(name)
        assert got.dtype == expected.dtype
        if expected.dtype == torch.float64:
            tolerance = 1e-6 * (reference.require("dynamic_ssim_count").clamp(min=1))
            tolerance = tolerance if name == "dynamic_ssim_sum" else 1e-6
            close = ((got - expected).abs() <= tolerance) | (got.isnan() & expected.isnan())
            assert bool(close.all()), name
        else:
            assert torch.equal(got, expected), name


@pytest.mark.parametrize("size", [(7, 9), (20, 24), (160, 150)], ids=str)
def test_bits_do_not_depend_on_the_batch(path_and_device, size):
    """A score must not depend on what else was in the batch."""
    path, device = path_and_device
    height, width = size
    events = ("noisy", "cut", "perfect", "flicker", "frozen")
    videos = [make_video(i, event, 3, height, width) for i, event in enumerate(events)]
    whole = frame_statistics(_batch(videos, device), GROUPS, path).reshape(5, 3)
    for i, video in enumerate(videos):
        alone = frame_statistics(_batch([video], device), GROUPS, path)
        assert_same_bits(whole[i], alone)
    order = [3, 0, 4, 2, 1]
    permuted = frame_statistics(_batch([videos[i] for i in order], device), GROUPS, path)
    assert_same_bits(whole[order], permuted.reshape(5, 3))


def test_bits_do_not_depend_on_the_order_of_rows_or_the_memory_layout(path_and_device):
    """Frames of another decoder, or in another order, would score differently."""
    path, device = path_and_device
    batch = _batch([make_video(i, "noisy", 4, 17, 23) for i in range(3)], device)
    whole = frame_statistics(batch, GROUPS, path)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0)).to(device)
    shuffled = FrameBatch(
        batch.target.contiguous(),
        batch.prediction.contiguous(),
        batch.row[order],
        batch.previous_row[order],
        batch.context.contiguous(),
        batch.context_row[order],
    )
    assert_same_bits(whole[order], frame_statistics(shuffled, GROUPS, path))
    some = order[:5]
    subset = FrameBatch(
        batch.target,
        batch.prediction,
        batch.row[some],
        batch.previous_row[some],
        batch.context,
        batch.context_row[some],
    )
    assert_same_bits(whole[some], frame_statistics(subset, GROUPS, path))


@pytest.mark.parametrize("size", [(13, 24), (135, 60)], ids=str)
def test_bits_do_not_depend_on_threads_batch_and_layout_together(
    path_and_device, restore_num_threads, size
):
    """A vector operation that ends elsewhere, or sums in another order, would change last bits."""
    path, device = path_and_device
    random = np.random.default_rng(0)
    context = random.integers(0, 256, (3, 1, *size, 3))
    target = context + random.integers(-40, 41, (3, 2, *size, 3))
    prediction = target + random.integers(-20, 21, target.shape)
    channels_last = [
        to_torch(np.clip(frames, 0, 255).astype(np.uint8)).to(device)
        for frames in (prediction, target, context)
    ]
    channels_first = [frames.contiguous() for frames in channels_last]
    assert channels_first[0].stride() != channels_last[0].stride()

    def statistics(frames, episodes):
        prediction, target, context = (video[episodes] for video in frames)
        batch = FrameBatch.from_videos(prediction, target, context[:, 0])
        return frame_statistics(batch, GROUPS, path).reshape(-1, 2)

    torch.set_num_threads(1)
    expected = statistics(channels_last, slice(0, 3))
    assert bool((expected.require("dynamic_ssim_count") > 0).all())
    assert not bool(expected.require("ssim_gaussian").isnan().any())
    for num_threads in (1, 2, 3):
        torch.set_num_threads(num_threads)
        for frames in (channels_last, channels_first):
            for episodes in (slice(0, 3), slice(0, 1), slice(1, 3)):
                assert_same_bits(expected[episodes], statistics(frames, episodes))


def test_frames_under_the_window_have_no_ssim(path_and_device):
    """NaN, and sums that need no window stay right."""
    path, device = path_and_device
    for height, width in ((6, 6), (5, 5), (6, 40), (40, 6)):
        batch = _batch([make_video(0, "noisy", 2, height, width)], device)
        statistics = frame_statistics(batch, GROUPS, path)
        assert bool(statistics.require("ssim").isnan().all())
        assert bool(statistics.require("ssim_gaussian").isnan().all())
        assert statistics.require("dynamic_ssim_count").tolist() == [0, 0]
        assert statistics.require("dynamic_ssim_sum").tolist() == [0.0, 0.0]
        assert bool((statistics.require("squared_error_sum") > 0).all())
    batch = _batch([make_video(0, "noisy", 2, 7, 10)], device)
    statistics = frame_statistics(batch, GROUPS, path)
    assert not bool(statistics.require("ssim").isnan().any())
    assert bool(statistics.require("ssim_gaussian").isnan().all())


def test_without_context_the_sums_against_it_are_zero(path_and_device):
    """Uninitialised memory would count as motion."""
    path, device = path_and_device
    target, prediction, _ = make_video(0, "noisy", 2, 9, 9)
    frames = to_torch(prediction)[None].to(device), to_torch(target)[None].to(device)
    statistics = frame_statistics(FrameBatch.from_videos(*frames), GROUPS, path)
    assert statistics.require("has_context").tolist() == [False, False]
    for name, value in statistics.present().items():
        if name.startswith(("dynamic", "persistence")):
            assert value.tolist() == [0, 0], name


def test_rows_with_and_without_context_mix(path_and_device):
    """A row without context must not be compared with another episode's."""
    path, device = path_and_device
    batch = _batch([make_video(i, "noisy", 2, 9, 9) for i in range(2)], device)
    mixed = FrameBatch(
        batch.target,
        batch.prediction,
        batch.row,
        batch.previous_row,
        batch.context,
        torch.tensor([0, -1, 1, -1], device=device),
    )
    whole, got = (frame_statistics(b, GROUPS, path) for b in (batch, mixed))
    with_context = [0, 2]
    assert_same_bits(whole[with_context], got[with_context])
    assert got.require("has_context").tolist() == [True, False, True, False]
    assert got.require("dynamic_area")[1].item() == 0
    assert got.require("persistence_squared_error_sum")[3].item() == 0


def test_unsigned_differences_do_not_wrap(path_and_device):
    """10 against 8 in uint8 would be 254 one way round."""
    path, device = path_and_device
    tens = torch.full((1, 1, 3, 8, 8), 10, dtype=torch.uint8, device=device)
    for pair in ((tens, tens - 2), (tens - 2, tens)):
        statistics = frame_statistics(FrameBatch.from_videos(*pair), GROUPS, path)
        assert statistics.require("squared_error_sum").item() == 4 * 3 * 64


def test_largest_sums_are_exact_on_a_large_frame(path_and_device):
    """Black against white overflows 32 bits where a partial sum is too long."""
    path, device = path_and_device
    black = torch.zeros((1, 2, 3, 700, 650), dtype=torch.uint8, device=device)
    white = black + 255
    target = torch.cat([black[:, :1], white[:, :1]], dim=1)
    groups = GROUPS - {"ssim_gaussian11"}
    statistics = frame_statistics(
        FrameBatch.from_videos(255 - target, target, black[:, 0]), groups, path
    )
    num_values = 3 * 700 * 650
    assert statistics.require("squared_error_sum").tolist() == [255**2 * num_values] * 2
    assert statistics.require("target_delta_sum").tolist() == [0, 255 * num_values]
    assert statistics.require("dynamic_area").tolist() == [0, 700 * 650]
    # (2 * 0 * 255 + C1) / (0 + 255^2 + C1): zeros against ones in range 1.
    assert statistics.require("ssim")[0].item() == pytest.approx(9.99900e-05, abs=1e-6)


def test_zeros_against_ones_is_the_published_value():
    """SSIM 9.99900e-05 at data range 1 is black against white at 255."""
    black = torch.zeros((1, 1, 3, 16, 16), dtype=torch.uint8)
    batch = FrameBatch.from_videos(black + 255, black)
    statistics = frame_statistics(batch, frozenset({"ssim_uniform7"}), "reference")
    assert statistics.require("ssim").item() == pytest.approx(9.99900e-05, rel=1e-5)


def test_only_what_was_asked_for_is_computed(path_and_device):
    """And a group alone has the bits that it has among all."""
    path, device = path_and_device
    batch = _batch([make_video(0, "noisy", 2, 12, 12)], device)
    everything = frame_statistics(batch, GROUPS, path)
    for group in sorted(GROUPS):
        alone = frame_statistics(batch, frozenset({group}), path).present()
        assert len(alone) > 1
        for name, value in alone.items():
            assert torch.equal(value, everything.require(name)), (group, name)


def test_no_rows_give_empty_statistics(path_and_device):
    """An empty last window would end an evaluation."""
    path, device = path_and_device
    batch = _batch([make_video(0, "noisy", 2, 12, 12)], device)
    none = torch.empty(0, dtype=torch.int64, device=device)
    empty = FrameBatch(batch.target, batch.prediction, none, none, batch.context, none)
    statistics = frame_statistics(empty, GROUPS, path)
    assert statistics.shape == (0,)
    assert statistics.present().keys() == frame_statistics(batch, GROUPS, path).present().keys()


def test_autocast_and_inference_mode_change_nothing(path_and_device):
    """Validation runs inside both; SSIM in bfloat16 is noise."""
    path, device = path_and_device
    batch = _batch([make_video(0, "noisy", 3, 20, 20)], device)
    plain = frame_statistics(batch, GROUPS, path)
    with torch.autocast(device, dtype=torch.bfloat16):
        assert_same_bits(plain, frame_statistics(batch, GROUPS, path))
    with torch.inference_mode():
        inside = _batch([make_video(0, "noisy", 3, 20, 20)], device)
        assert_same_bits(plain, frame_statistics(inside, GROUPS, path))
    assert_same_bits(plain, frame_statistics(inside, GROUPS, path))


def test_results_are_finite_where_defined(path_and_device):
    """A division by zero on constant frames."""
    path, device = path_and_device
    batch = _pairs_batch(list(adversarial_pairs(16, 16).values()), device)
    for name, value in frame_statistics(batch, GROUPS, path).present().items():
        assert all(math.isfinite(v) for v in value.tolist()), name
