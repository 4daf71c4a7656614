"""One finished episode, step by step: what happened, and how likely contestants had said it was."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from wbgpu.bench.answer_key import ScoredStep, unpacked
from wbgpu.bench.problems import RefusedError
from wbgpu.bench.sessions import Bench
from wbgpu.records.world import Schema
from wbgpu.worlds import Renderer, WorldDefinition

FRAME_SIZE = 192
"""Sides of a frame in pixels."""


def replay(bench: Bench, run_ids: Sequence[str]) -> dict[str, Any]:
    """What one or two runs forecast of one episode.

    Args:
        bench: whose sessions they are.
        run_ids: public ids of finished sessions.

    Returns:
        ``contestants`` and ``steps``: names of the present state, the action and the outcome, and
        for each contestant by variable the ``probabilities`` that it gave to the outcome, and
        their ``joint`` product. What the truth gave is not told.

    Raises:
        RefusedError: a run is unknown or not finished, or they are of different episodes.
    """
    runs = [_finished(bench, run_id) for run_id in run_ids]
    first = runs[0]
    world = bench.key.world(first["world"], first["world_sha256"])
    for other in runs[1:]:
        for key in ("world", "world_sha256", "seed", "draws"):
            if other[key] != first[key]:
                raise RefusedError(
                    409,
                    "different-episodes",
                    "the runs are of different episodes; practice runs of one world and seed are "
                    "of one episode, and scored ones if the server says --paired-episodes",
                )
    played = [bench.steps(run) for run in runs]
    chances = [_chances(steps, world.schema) for steps in played]
    schema = world.schema
    steps = [
        {
            "step": number,
            "frame": _frame_name(step.state),
            "state": _names(step.state, schema),
            "action": schema.actions[step.action],
            "outcome": _names(step.outcome, schema),
            "outcome_frame": _frame_name(step.outcome),
            "forecasts": [
                {
                    "joint": math.prod(rows[number]),
                    "probabilities": dict(zip(_variables(schema), rows[number], strict=True)),
                }
                for rows in chances
            ],
        }
        for number, step in enumerate(played[0][: min(map(len, played))])
    ]
    kept = ("run_id", "name", "practice", "max_steps")
    return {
        "env": schema.world,
        "seed": int(first["seed"]),
        "has_frames": world.picture is not None,
        "contestants": [{key: run[key] for key in kept} for run in runs],
        "steps": steps,
    }


def frame(bench: Bench, env: str, state: str) -> bytes:
    """A state drawn as PNG.

    Args:
        bench: whose world it is.
        env: name of the world.
        state: indices of outcomes, joined by dashes.

    Raises:
        RefusedError: there is no such world, picture or state.
    """
    world = bench.key.world(env)
    sizes = [variable.num_outcomes for variable in world.schema.variables]
    parts = state.split("-")
    # At most 9 digits: more are no index, and int refuses thousands with another error.
    numbers = [int(p) for p in parts if p.isascii() and p.isdigit() and len(p) < 10]
    is_state = len(numbers) == len(parts) == len(sizes)
    if not is_state or any(n >= size for n, size in zip(numbers, sizes, strict=True)):
        raise RefusedError(404, "unknown-state", "there is no such state", field="state")
    if world.picture is None:
        raise RefusedError(404, "no-picture", f"the world {env!r} has no picture", field="env")
    return _drawn(world, numbers)


def _drawn(world: WorldDefinition, numbers: list[int]) -> bytes:
    pixels = Renderer(world, FRAME_SIZE).frames(np.array([numbers], dtype=np.int64))[0]
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def _finished(bench: Bench, run_id: str) -> Mapping[str, Any]:
    row = bench.run(run_id)
    if row["finished_at"] is None:
        raise RefusedError(409, "session-not-finished", "the run has not come to its end")
    return row


def _chances(steps: Sequence[ScoredStep], schema: Schema) -> list[list[float]]:
    """For each step and variable the probability that was given to what happened."""
    rows = unpacked([step.forecast for step in steps], schema)
    outcomes = np.array([step.outcome for step in steps], dtype=np.int64)
    picked = [np.take_along_axis(row, outcomes[:, [v]], axis=1)[:, 0] for v, row in enumerate(rows)]
    chances: list[list[float]] = np.stack(picked, axis=1).tolist()
    return chances


def _names(state: Sequence[int], schema: Schema) -> dict[str, str]:
    return {v.name: v.outcomes[i] for v, i in zip(schema.variables, state, strict=True)}


def _variables(schema: Schema) -> list[str]:
    return [variable.name for variable in schema.variables]


def _frame_name(state: Sequence[int]) -> str:
    return "-".join(map(str, state))
