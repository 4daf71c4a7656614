"""Built-in episodes: a drawn gripper pushes a block over a table, with two simple predictors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Frames = npt.NDArray[np.uint8]
"""uint8 [T, H, W, 3]."""

NUM_CONTEXT = 4
NUM_FUTURE = 12
NUM_EPISODES = 8
FPS = 5
_HEIGHT, _WIDTH = 96, 128
_SEED = 20260729


def copy_last(context: Frames, num_frames: int) -> Frames:
    """Predict that nothing moves any more."""
    return np.repeat(context[-1:], num_frames, axis=0)


def context_mean(context: Frames, num_frames: int) -> Frames:
    """Predict the mean of the context frames: a blurred past."""
    mean = np.round(context.astype(np.float64).mean(axis=0, keepdims=True)).astype(np.uint8)
    return np.repeat(mean, num_frames, axis=0)


PREDICTORS: Mapping[str, Callable[[Frames, int], Frames]] = {
    "copy_last": copy_last,
    "context_mean": context_mean,
}


def write_demo_suite(folder: Path) -> None:
    """Write ``gt/`` and one folder a predictor, :data:`NUM_EPISODES` videos each."""
    from wbgpu.video.encode import write_video

    generator = np.random.default_rng(_SEED)
    for index in range(NUM_EPISODES):
        truth = draw_episode(generator, NUM_CONTEXT + NUM_FUTURE)
        name = f"episode_{index:03}.mp4"
        write_video(folder / "gt" / name, truth, fps=FPS)
        context = truth[:NUM_CONTEXT]
        for predictor, predict in PREDICTORS.items():
            future = predict(context, NUM_FUTURE)
            write_video(folder / predictor / name, np.concatenate([context, future]), fps=FPS)


def write_demo_pair(folder: Path) -> tuple[Path, Path]:
    """Write one ground truth and one prediction of it; returns their paths."""
    from wbgpu.video.encode import write_video

    truth = draw_episode(np.random.default_rng(_SEED), 8)
    prediction = np.concatenate([truth[:3], copy_last(truth[:3], 5)])
    paths = folder / "ground_truth.mp4", folder / "predicted_future.mp4"
    for path, frames in zip(paths, (truth, prediction), strict=True):
        write_video(path, frames, fps=FPS)
    return paths


def draw_episode(generator: np.random.Generator, num_frames: int) -> Frames:
    """A gripper moves in a straight line and pushes the block once it touches it."""
    table = generator.integers(150, 200, 3)
    texture = generator.normal(0, 6, (_HEIGHT, _WIDTH, 1))
    background = np.clip(table + texture, 0, 255).astype(np.uint8)
    block_color = tuple(int(c) for c in generator.permutation([200, 60, 40]))
    gripper = np.array([generator.uniform(8, 24), generator.uniform(24, _HEIGHT - 24)])
    block = np.array([generator.uniform(48, 72), gripper[1] + generator.uniform(-4, 4)])
    speed = np.array([generator.uniform(3, 5), generator.uniform(-0.5, 0.5)])
    frames = []
    for _ in range(num_frames):
        image = Image.fromarray(background)
        draw = ImageDraw.Draw(image)
        draw.rectangle([*(block - 8), *(block + 8)], fill=block_color, outline=(30, 30, 30))
        jaw = np.array([4, 12])
        draw.rectangle([*(gripper - jaw), *(gripper + jaw)], fill=(60, 60, 70))
        draw.line([gripper[0], 0, gripper[0], gripper[1] - 12], fill=(90, 90, 100), width=3)
        frames.append(np.asarray(image))
        gripper = gripper + speed
        block[0] = max(block[0], gripper[0] + 12)
    return np.stack(frames)
