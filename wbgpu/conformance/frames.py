"""Frame metrics on frames whose values follow from the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from wbgpu.metrics.horizon_metric import HorizonMetric
from wbgpu.metrics.mse import Mse
from wbgpu.metrics.psnr import MeanPsnr
from wbgpu.metrics.ssim_wang2004 import SsimWang2004
from wbgpu.metrics.temporal_stability import TemporalStability
from wbgpu.metrics.visual_similarity import VisualSimilarity
from wbgpu.records.conformance import KnownValue
from wbgpu.statistics import FrameBatch, frame_statistics

_SIDE = 16
_ROUNDING = 1e-9
# Of SSIM: what the fast paths promise.
_SSIM = 1e-6
_WANG = "Wang et al. 2004, with C1 = (0.01 L)^2"


def frame_values() -> Iterator[KnownValue]:
    """Mean squared error, PSNR, SSIM and the scores made of them."""
    black, white = _frames(0), _frames(255)
    for prediction, target in ((10, 8), (8, 10)):
        yield KnownValue(
            f"MSE of uint8 {prediction} against {target}",
            "definition; no wrap-around",
            "squared intensity",
            4.0,
            _value(Mse(), _frames(prediction), _frames(target)),
            0.0,
        )
    yield KnownValue(
        "PSNR of white against black",
        "definition",
        "dB",
        0.0,
        _value(MeanPsnr(), white, black),
        1e-9,
    )
    yield KnownValue(
        "PSNR of frames that differ by 1 everywhere",
        "20 log10 255",
        "dB",
        20 * math.log10(255),
        _value(MeanPsnr(), _frames(100), _frames(101)),
        _ROUNDING,
    )
    for name, uniform in (("uniform 7x7", True), ("Gaussian 11x11", False)):
        yield KnownValue(
            f"SSIM of white against black, {name}",
            _WANG,
            "1",
            1e-4 / 1.0001,
            _uniform_ssim(white, black) if uniform else _value(SsimWang2004(), white, black),
            _SSIM,
        )
        noise = _noise()
        yield KnownValue(
            f"SSIM of identical noise, {name}",
            "definition",
            "1",
            1.0,
            _uniform_ssim(noise, noise) if uniform else _value(SsimWang2004(), noise, noise),
            0.0 if uniform else _SSIM,
        )
    noise = _noise()
    yield KnownValue(
        "visual_similarity of identical frames",
        "worldbench 0.4.1",
        "score",
        100.0,
        _value(VisualSimilarity(), noise, noise),
        _ROUNDING,
    )
    yield KnownValue(
        "temporal_stability of a still video",
        "worldbench 0.4.1",
        "score",
        100.0,
        _value(TemporalStability(), noise, noise),
        _ROUNDING,
    )


def _frames(level: int) -> Tensor:
    """One episode of four equal frames, ``[1, 4, 3, H, W]``."""
    return torch.full((1, 4, 3, _SIDE, _SIDE), level, dtype=torch.uint8)


def _noise() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    frame = torch.randint(0, 256, (1, 1, 3, _SIDE, _SIDE), dtype=torch.uint8, generator=generator)
    return frame.expand(1, 4, 3, _SIDE, _SIDE)


def _value(metric: HorizonMetric, prediction: Tensor, target: Tensor) -> float:
    """At the last horizon."""
    metric.update(prediction, target)
    num_steps = target.shape[1]
    return float(metric.compute()["prefix"][num_steps - 1])


def _uniform_ssim(prediction: Tensor, target: Tensor) -> float:
    batch = FrameBatch.from_videos(prediction, target)
    return float(frame_statistics(batch, frozenset({"ssim_uniform7"})).require("ssim")[-1])
