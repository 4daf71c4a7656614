"""Drawn robot scenes, and worldbench's own metrics on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from worldbench.dataset import Episode
from worldbench.schemas import ActionRecord, EpisodeMetadata, MetricResult

SYNTHETIC = {"name": "scene", "robot": "synthetic_2d_arm", "task": "push", "fps": 5}

Frames = np.ndarray[Any, np.dtype[np.uint8]]


def random_scene(rng: np.random.Generator, num_frames: int) -> Frames:
    """uint8 ``[T, 48, 64, 3]``: a robot and an object that wander, shrink and vanish."""
    frames = np.full((num_frames, 48, 64, 3), 228, np.uint8)
    robot, thing = rng.uniform(8, 40, 2), rng.uniform(8, 40, 2)
    for frame in frames:
        robot += rng.normal(0, 3, 2)
        thing += rng.normal(0, 2, 2) * (rng.random() < 0.4)
        if rng.random() < 0.85:
            _draw(frame, robot, int(rng.integers(5, 9)), (220, 45, 45))
        kind = rng.random()
        if kind < 0.75:
            _draw(frame, thing, int(rng.integers(2, 9)), (45, 190, 70))
        elif kind < 0.9:
            _draw(frame, thing, 6, (60, 90, 220))
        elif kind < 0.95:
            _draw(frame, thing, 6, (220, 200, 40))
    return frames


def _draw(frame: Frames, centre: np.ndarray, size: int, color: tuple[int, int, int]) -> None:
    x, y = np.clip(centre, 0, [63 - size, 47 - size]).astype(int)
    frame[y : y + size, x : x + size] = color


def random_actions(rng: np.random.Generator, num_actions: int) -> list[dict[str, Any]]:
    names = ["move_right", "move_left", "move_up", "move_down", "hold", "noop", "close_gripper"]
    actions: list[dict[str, Any]] = []
    for t in range(num_actions):
        action: dict[str, Any] = {"t": t, "action": str(rng.choice(names))}
        if rng.random() < 0.4:
            action |= {"dx": float(rng.normal()), "dy": float(rng.normal())}
        if rng.random() < 0.1:
            action |= {"action": [0.1, 0.2], "dx": 1.0}
        actions.append(action)
    return actions


def write_images(folder: Path, frames: Frames) -> list[Path]:
    folder.mkdir(parents=True)
    paths = [folder / f"{index:03d}.png" for index in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        Image.fromarray(frame).save(path)
    return paths


def write_episode(
    dataset: Path,
    name: str,
    frames: Frames,
    predictions: Frames | None,
    actions: list[dict[str, Any]],
    metadata: dict[str, Any] | None = None,
) -> Path:
    """An episode of a frame dataset."""
    folder = dataset / name
    write_images(folder / "frames", frames)
    if predictions is not None:
        write_images(folder / "predictions", predictions)
    documents = {
        "actions": actions,
        "states": [{"t": t} for t in range(len(frames))],
        "metadata": SYNTHETIC if metadata is None else metadata,
    }
    for role, document in documents.items():
        (folder / f"{role}.json").write_text(json.dumps(document))
    return folder


def peer_result(
    metric: Any, images: list[Path], actions: list[dict[str, Any]], metadata: dict[str, Any]
) -> MetricResult:
    """What worldbench's metric says of these predicted images."""
    episode = Episode(
        name="scene",
        path=images[0].parent,
        frames=images,
        predictions=images,
        actions=[ActionRecord.model_validate(action) for action in actions],
        states=[],
        metadata=EpisodeMetadata.model_validate(metadata),
    )
    return metric.evaluate(episode, images)
