"""What scripts/benchmark_statistics.py compares: ours, and the SSIM packages of PyPI."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from statistics_cases import Frames

from wbgpu.statistics import FrameBatch, frame_statistics

PACKAGES = (
    "scikit-image",
    "torchmetrics",
    "pytorch-msssim",
    "piq",
    "kornia",
    "frame-analytics",
    "fast-ssim",
    "blazediff-ssim",
)
_DEFAULT_GROUPS = frozenset(
    {"squared_error", "ssim_uniform7", "frame_delta", "persistence", "dynamic_region"}
)


@dataclass(frozen=True)
class Candidate:
    """One way to score frames.

    Attributes:
        run: target and prediction, ``[T, H, W, 3]``, to a score of each frame.
        package: distribution it needs.
        definition: key of `ORACLES`, or "" where scores are not compared.
    """

    run: Callable[[Frames, Frames], object]
    package: str
    definition: str
    note: str = ""


def _batch(target: Frames, prediction: Frames) -> FrameBatch:
    videos = [torch.from_numpy(v).permute(0, 3, 1, 2)[None] for v in (prediction, target)]
    return FrameBatch.from_videos(*videos, context=videos[1][:, 0])


def _ours(path: str, groups: frozenset[str], field: str) -> Callable[[Frames, Frames], object]:
    def run(target: Frames, prediction: Frames) -> object:
        return frame_statistics(_batch(target, prediction), groups, path).require(field).tolist()

    return run


def _by_frame(score: Callable[[Frames, Frames], float]) -> Callable[[Frames, Frames], object]:
    return lambda target, prediction: [
        float(score(x, y)) for x, y in zip(target, prediction, strict=True)
    ]


def _tensors(frames: Frames) -> torch.Tensor:
    return torch.from_numpy(frames).permute(0, 3, 1, 2).float()


def _skimage(**options: object) -> Callable[[Frames, Frames], object]:
    from skimage.metrics import structural_similarity

    return _by_frame(
        lambda x, y: structural_similarity(x, y, channel_axis=-1, data_range=255, **options)
    )


def _torchmetrics(**options: object) -> Callable[[Frames, Frames], object]:
    from torchmetrics.functional.image import structural_similarity_index_measure as ssim

    return lambda x, y: ssim(
        _tensors(y), _tensors(x), data_range=255.0, reduction="none", **options
    ).tolist()


def _pytorch_msssim() -> Callable[[Frames, Frames], object]:
    from pytorch_msssim import ssim

    return lambda x, y: ssim(_tensors(x), _tensors(y), data_range=255, size_average=False).tolist()


def _piq() -> Callable[[Frames, Frames], object]:
    from piq import ssim

    return lambda x, y: ssim(
        _tensors(x), _tensors(y), data_range=255.0, reduction="none", downsample=False
    ).tolist()


def _kornia() -> Callable[[Frames, Frames], object]:
    from kornia.metrics import ssim

    def run(x: Frames, y: Frames) -> object:
        full = ssim(_tensors(x), _tensors(y), 11, max_val=255.0, eps=0.0, padding="valid")
        return full.mean(dim=(1, 2, 3)).tolist()

    return run


def _frame_analytics() -> Callable[[Frames, Frames], object]:
    from frame_analytics import ssim

    def planes(frames: Frames) -> torch.Tensor:
        return torch.from_numpy(frames).permute(0, 3, 1, 2).contiguous()

    return lambda x, y: ssim(planes(x), planes(y), reduction="none").tolist()


def _fast_ssim() -> Callable[[Frames, Frames], object]:
    from fast_ssim import ssim

    return _by_frame(lambda x, y: ssim(x, y, data_range=255))


def _blazediff() -> Callable[[Frames, Frames], object]:
    from blazediff_ssim import compare_rgba

    def rgba(frame: Frames) -> bytes:
        return np.dstack([frame, np.full(frame.shape[:2], 255, np.uint8)]).tobytes()

    return _by_frame(lambda x, y: compare_rgba(rgba(x), rgba(y), x.shape[1], x.shape[0]).score)


def candidates() -> dict[str, Candidate]:
    """Those that can be imported, by name."""
    uniform, gaussian = frozenset({"ssim_uniform7"}), frozenset({"ssim_gaussian11"})
    sums = frozenset({"squared_error", "frame_delta"})
    makers: dict[str, tuple[Callable[[], Callable[[Frames, Frames], object]], str, str, str]] = {
        "wbgpu cpu, uniform 7": (lambda: _ours("cpu", uniform, "ssim"), "wbgpu", "uniform7", ""),
        "wbgpu cpu, Gaussian 11": (
            lambda: _ours("cpu", gaussian, "ssim_gaussian"),
            "wbgpu",
            "gaussian11",
            "",
        ),
        "wbgpu cpu, all default groups": (
            lambda: _ours("cpu", _DEFAULT_GROUPS, "ssim"),
            "wbgpu",
            "uniform7",
            "error, SSIM, deltas, persistence, dynamic region",
        ),
        "wbgpu cpu, error and deltas": (
            lambda: _ours("cpu", sums, "squared_error_sum"),
            "wbgpu",
            "",
            "no SSIM",
        ),
        "wbgpu reference, uniform 7": (
            lambda: _ours("reference", uniform, "ssim"),
            "wbgpu",
            "uniform7",
            "",
        ),
        "wbgpu reference, Gaussian 11": (
            lambda: _ours("reference", gaussian, "ssim_gaussian"),
            "wbgpu",
            "gaussian11",
            "",
        ),
        "scikit-image": (_skimage, "scikit-image", "uniform7", "worldbench's"),
        "scikit-image Gaussian": (
            lambda: _skimage(gaussian_weights=True, sigma=1.5, use_sample_covariance=False),
            "scikit-image",
            "gaussian11",
            "",
        ),
        "torchmetrics": (_torchmetrics, "torchmetrics", "gaussian11 padded", ""),
        "torchmetrics uniform 7": (
            lambda: _torchmetrics(gaussian_kernel=False, kernel_size=7),
            "torchmetrics",
            "uniform7 padded",
            "",
        ),
        "pytorch-msssim": (_pytorch_msssim, "pytorch-msssim", "gaussian11", ""),
        "piq": (_piq, "piq", "gaussian11", "downsample=False"),
        "kornia": (_kornia, "kornia", "gaussian11", "padding=valid"),
        "frame-analytics": (_frame_analytics, "frame-analytics", "gaussian11", ""),
        "fast-ssim": (_fast_ssim, "fast-ssim", "uniform7", ""),
        "blazediff-ssim": (_blazediff, "blazediff-ssim", "", "luma only, downsampled"),
    }
    return {
        name: Candidate(maker(), package, definition, note)
        for name, (maker, package, definition, note) in makers.items()
        if package not in missing_packages()
    }


def missing_packages() -> list[str]:
    names = {
        name: "skimage" if name == "scikit-image" else name.replace("-", "_") for name in PACKAGES
    }
    return [name for name, module in names.items() if importlib.util.find_spec(module) is None]
