"""worldbench's SSIM without scikit-image."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from worldbench.metrics.visual import _fallback_ssim

from tests.oracles.frame_pairs import adversarial_pairs
from tests.oracles.videos import to_torch
from wbgpu.statistics import FrameBatch, frame_statistics


def _luma_ssim(target: np.ndarray, prediction: np.ndarray, path: str, device: str) -> float:
    frames = (to_torch(frame)[None, None].to(device) for frame in (prediction, target))
    batch = FrameBatch.from_videos(*frames)
    return frame_statistics(batch, frozenset({"luma_moments"}), path).require("luma_ssim").item()


@pytest.mark.parametrize("size", [(7, 7), (48, 61), (5, 200), (140, 200)], ids=str)
def test_agrees_with_worldbench(path_and_device, size):
    """Scores without scikit-image could not be compared."""
    for name, (target, prediction) in adversarial_pairs(*size).items():
        expected = _fallback_ssim(target.astype(np.float32), prediction.astype(np.float32))
        # worldbench works in float32; two nearly constant frames cost it five digits.
        tolerance = 1e-3 if "250" in name else 1e-5
        got = _luma_ssim(target, prediction, *path_and_device)
        assert got == pytest.approx(expected, abs=tolerance), name


def test_agrees_with_the_recorded_unit_vectors(path_and_device, shared):
    """Recorded, so that a changed worldbench cannot move both sides."""
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())["ssim_psnr"]
    vectors = [vector for vector in vectors if vector["a"] is not None]
    assert len(vectors) >= 3
    for vector in vectors:
        target, prediction = (np.array(vector[key], dtype=np.uint8) for key in ("a", "b"))
        got = _luma_ssim(target, prediction, *path_and_device)
        assert got == pytest.approx(vector["ssim_fallback"], abs=1e-6), vector["seed"]


def test_equal_frames_score_exactly_one(path_and_device):
    """0.9999999 for a perfect prediction looks like an error."""
    for name in ("identical", "black", "all 255"):
        target, prediction = adversarial_pairs(30, 40)[name]
        assert _luma_ssim(target, prediction, *path_and_device) == 1.0, name


def test_is_clamped_at_zero(path_and_device):
    """As worldbench does; SSIM itself is negative here."""
    target, prediction = adversarial_pairs(30, 40)["inverted"]
    assert _luma_ssim(target, prediction, *path_and_device) == 0.0


def test_recorded_frames_also_match_mse_and_ssim(path_and_device, shared):
    """The same recorded frames through the other two definitions."""
    path, device = path_and_device
    vectors = json.loads((shared / "golden/expected/unit_vectors.json").read_text())["ssim_psnr"]
    for vector in vectors:
        if vector["a"] is None:
            continue
        frames = (
            torch.tensor(vector[key], dtype=torch.uint8, device=device).permute(2, 0, 1)[None, None]
            for key in ("b", "a")
        )
        groups = frozenset({"squared_error", "ssim_uniform7"})
        statistics = frame_statistics(FrameBatch.from_videos(*frames), groups, path)
        assert statistics.require("squared_error_sum").item() == vector["sse_exact_int"]
        if not vector["uses_fallback_with_skimage"]:
            assert statistics.require("ssim").item() == pytest.approx(vector["ssim"], abs=1e-6)
