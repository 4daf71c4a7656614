"""Episodes of a world in worldbench's frame-dataset layout: exact synthetic ground truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.strict_json import write_json
from wbgpu.worlds.definition import WorldDefinition
from wbgpu.worlds.render import Renderer
from wbgpu.worlds.rollout import Rollout, roll_out


def write_episodes(
    definition: WorldDefinition,
    folder: str | Path,
    seeds: Sequence[int],
    num_steps: int,
    *,
    size: int = 256,
    fps: float = 5.0,
) -> list[Path]:
    """Play episodes with the world's behaviour policy and write them as a frame dataset.

    Each ``episode_000/`` holds ``frames/000.png`` ... (one more than steps), ``actions.json``
    (name, commanded dx and dy), ``states.json`` (all variables, and the exact pixel positions of
    robot and object where the world draws them) and ``metadata.json``. worldbench 0.4.1 reads it.

    Args:
        definition: a world with a picture.
        folder: made where it is missing; must not hold episodes yet.
        seeds: one per episode, in this order.
        num_steps: steps of each.
        size: sides of the frames in pixels.
        fps: frame rate that is written down.

    Returns:
        The folders of the episodes.

    Raises:
        ConfigurationError: the world has no picture, or an argument is out of range.
        InputError: the folder holds episodes.
    """
    if not (math.isfinite(fps) and fps > 0):
        raise ConfigurationError(f"fps: expected a number above 0, got {fps!r}")
    renderer = Renderer(definition, size)
    rollout = roll_out(definition, seeds, num_steps)
    root = Path(folder)
    if any(root.glob("episode_*")):
        raise InputError(f"{root}: holds episodes already; give a new folder")
    digits = max(3, len(str(len(seeds) - 1)))
    paths = []
    for index, seed in enumerate(seeds):
        path = root / f"episode_{index:0{digits}}"
        _write_frames(path / "frames", renderer.frames(rollout.states[index]))
        write_json(path / "actions.json", _actions(renderer, rollout.actions[index]))
        write_json(path / "states.json", _states(renderer, rollout, index))
        write_json(path / "metadata.json", _metadata(definition, path.name, index, int(seed), fps))
        paths.append(path)
    return paths


def _write_frames(folder: Path, frames: npt.NDArray[np.uint8]) -> None:
    folder.mkdir(parents=True)
    # Readers sort names as text.
    digits = max(3, len(str(len(frames) - 1)))
    for index, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"{index:0{digits}}.png", compress_level=1)


def _actions(renderer: Renderer, actions: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    names = renderer.definition.schema.actions
    rows = []
    for step, action in enumerate(actions.tolist()):
        dx, dy = renderer.motion(names[action])
        rows.append({"t": step, "action": names[action], "dx": dx, "dy": dy})
    return rows


def _states(renderer: Renderer, rollout: Rollout, index: int) -> list[dict[str, Any]]:
    states = rollout.states[index]
    tracks = renderer.tracks(states)
    variables = renderer.definition.schema.variables
    rows = []
    for step, state in enumerate(states.tolist()):
        row: dict[str, Any] = {"t": step}
        for name, track in tracks.items():
            x, y = track[step].tolist()
            if not math.isnan(x):
                row |= {f"{name}_x": x, f"{name}_y": y}
        row["observation_state"] = {
            variable.name: variable.outcomes[value]
            for variable, value in zip(variables, state, strict=True)
        }
        rows.append(row)
    return rows


def _metadata(
    definition: WorldDefinition, name: str, index: int, seed: int, fps: float
) -> dict[str, Any]:
    world = definition.schema.world
    return {
        "name": name,
        # worldbench tracks colours where the robot is called synthetic.
        "robot": f"synthetic_{world}",
        "task": world,
        "fps": fps,
        "description": definition.description,
        "source": "wbgpu.worlds",
        "episode_index": index,
        "world": world,
        "world_sha256": definition.sha256,
        "seed": seed,
    }
