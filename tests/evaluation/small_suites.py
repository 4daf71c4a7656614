"""Small suites of drawn episodes with noisy predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wbgpu.cli.demo_suite import draw_episode
from wbgpu.video.encode import write_video


def write_small_suite(folder: Path, lengths: tuple[int, ...] = (9, 12, 15, 18, 21)) -> Path:
    """Episodes ``gt/0.mp4`` and so on of so many frames, and predictions in ``step00900``."""
    generator = np.random.default_rng(5)
    for index, length in enumerate(lengths):
        truth = draw_episode(generator, length)[:, ::2, ::2]
        noise = generator.normal(0, 8, truth.shape)
        prediction = np.clip(truth + noise, 0, 255).astype(np.uint8)
        write_video(folder / f"gt/{index}.mp4", truth, fps=5)
        write_video(folder / f"step00900/{index}.mp4", prediction, fps=5)
    return folder
