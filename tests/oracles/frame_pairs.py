"""Pairs of frames on which SSIM implementations go wrong, and the definitions in float64."""

from __future__ import annotations

import numpy as np
from skimage.metrics import structural_similarity


def adversarial_pairs(height: int, width: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Target and prediction, uint8 [H, W, 3], by name."""
    random = np.random.default_rng(height * 1000 + width)
    shape = (height, width, 3)

    def uint8(values: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(values), 0, 255).astype(np.uint8)

    rows, columns = np.mgrid[0:height, 0:width]
    waves = 128 + 80 * np.sin(rows / 5.0) * np.cos(columns / 7.0)
    natural = uint8(waves[..., None] + [0, 20, -30] + random.normal(0, 3, shape))
    halves = np.zeros(shape, np.uint8)
    halves[:, width // 2 :] = 255
    noise = random.integers(0, 256, shape, dtype=np.uint8)
    constant = np.full(shape, 250, np.uint8)
    return {
        "natural": (natural, uint8(natural + random.normal(0, 6, shape))),
        "bright 250+-1": (
            uint8(250 + random.integers(-1, 2, shape)),
            uint8(250 + random.integers(-1, 2, shape)),
        ),
        "identical": (natural, natural.copy()),
        "black": (np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)),
        "independent noise": (noise, random.integers(0, 256, shape, dtype=np.uint8)),
        "all 255": (np.full(shape, 255, np.uint8), np.full(shape, 255, np.uint8)),
        "250 against 251": (constant, constant + 1),
        "black and white halves": (halves, uint8(halves + random.normal(0, 10, shape))),
        "inverted": (noise, 255 - noise),
        "dark 1+-1": (
            random.integers(0, 3, shape, dtype=np.uint8),
            random.integers(0, 3, shape, dtype=np.uint8),
        ),
    }


def uniform_ssim(target: np.ndarray, prediction: np.ndarray) -> float:
    """scikit-image as worldbench calls it."""
    return float(structural_similarity(target, prediction, channel_axis=-1, data_range=255))


def gaussian_ssim(target: np.ndarray, prediction: np.ndarray) -> float:
    """scikit-image's mode for Wang et al. 2004."""
    return float(
        structural_similarity(
            target,
            prediction,
            channel_axis=-1,
            data_range=255,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
        )
    )
