"""Frames for scripts/benchmark_statistics.py, and what SSIM of them is in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

Frames = np.ndarray  # uint8 [T, H, W, 3]
NUM_FRAMES = 8


def natural_frames(height: int, width: int) -> tuple[Frames, Frames, str]:
    """Robot video and a model's prediction where they are beside the repository, else drawn."""
    suite = Path(__file__).resolve().parent.parent.parent / "shared/data/bridge_suite"
    if suite.is_dir():
        import av

        videos = []
        for folder in ("gt", "step00900"):
            with av.open(str(suite / folder / "000000000.mp4")) as container:
                frames = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
            videos.append(frames[4 : 4 + NUM_FRAMES])
        name = "BridgeData V2 and a model's prediction"
    else:
        random = np.random.default_rng(0)
        scene = random.integers(0, 256, (height // 6, width // 6, 3), dtype=np.uint8)
        size = (width + NUM_FRAMES, height)
        scene = np.asarray(Image.fromarray(scene).resize(size, Image.Resampling.BICUBIC))
        truth = [scene[:, t : t + width] for t in range(NUM_FRAMES)]
        noise = random.normal(0, 4, (NUM_FRAMES, height, width, 3))
        videos = [truth, list(np.clip(np.stack(truth) + noise, 0, 255).astype(np.uint8))]
        name = "drawn scene under a camera pan"
    target, prediction = (
        np.stack([np.asarray(Image.fromarray(f).resize((width, height))) for f in frames])
        for frames in videos
    )
    return target, prediction, name


def accuracy_cases() -> dict[str, tuple[Frames, Frames]]:
    """Frames on which SSIM implementations go wrong, ``[1, 256, 256, 3]``."""
    target, prediction, _ = natural_frames(256, 256)
    random = np.random.default_rng(1)
    shape = (1, 256, 256, 3)

    def uniform(low: int, high: int) -> Frames:
        return random.integers(low, high, shape, dtype=np.uint8)

    def constant(value: int) -> Frames:
        return np.full(shape, value, np.uint8)

    halves = constant(0)
    halves[:, :, 128:] = 255
    noise = random.normal(0, 10, shape)
    return {
        "natural": (target[:1], prediction[:1]),
        "bright 250+-1": (uniform(249, 252), uniform(249, 252)),
        "identical": (target[:1], target[:1].copy()),
        "black": (constant(0), constant(0)),
        "random": (uniform(0, 256), uniform(0, 256)),
        "all 255": (constant(255), constant(255)),
        "250 v 251": (constant(250), constant(251)),
        "halves": (halves, np.clip(halves + noise, 0, 255).astype(np.uint8)),
    }


# Oracles: windows summed one by one in float64 (the uniform ones are sums of integers: exact).


def _weighted(values: np.ndarray, taps: np.ndarray) -> np.ndarray:
    rows = values.shape[0] - len(taps) + 1
    values = sum(tap * values[i : i + rows] for i, tap in enumerate(taps))
    columns = values.shape[1] - len(taps) + 1
    return sum(tap * values[:, i : i + columns] for i, tap in enumerate(taps))


def _oracle(x: Frames, y: Frames, taps: np.ndarray, sample: bool, padded: bool) -> float:
    if padded:
        radius = len(taps) // 2
        edges = ((radius, radius), (radius, radius), (0, 0))
        x, y = np.pad(x, edges, mode="reflect"), np.pad(y, edges, mode="reflect")
    scale = taps.sum() ** 2  # 49 for ones, so that all sums stay integers
    s, d = x.astype(np.float64) + y, x.astype(np.float64) - y
    means = [_weighted(v, taps) ** 2 for v in (s, d)]
    factor = scale / (scale - 1) if sample else 1.0
    variances = [
        factor * (scale * _weighted(v * v, taps) - m) for v, m in zip((s, d), means, strict=True)
    ]
    c1, c2 = (2 * scale**2 * (k * 255) ** 2 for k in (0.01, 0.03))
    u = means[1] / (means[0] + means[1] + c1)
    v = variances[1] / (variances[0] + variances[1] + c2)
    return float(1 - (2 * u + 2 * v - 4 * u * v).mean())


def _gaussian_taps() -> np.ndarray:
    taps = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    return taps / taps.sum()


ORACLES: dict[str, Callable[[Frames, Frames], float]] = {
    "uniform7": lambda x, y: _oracle(x, y, np.ones(7), sample=True, padded=False),
    "uniform7 padded": lambda x, y: _oracle(x, y, np.ones(7), sample=False, padded=True),
    "gaussian11": lambda x, y: _oracle(x, y, _gaussian_taps(), sample=False, padded=False),
    "gaussian11 padded": lambda x, y: _oracle(x, y, _gaussian_taps(), sample=False, padded=True),
}
