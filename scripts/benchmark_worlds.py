"""Stepping many worlds in a batch against a loop over single worlds, interleaved in one process.

Both play the same episodes with the same actions; outcomes are compared before anything is timed.
The loop is the single-world API as a user would write it, with names of actions and outcomes.

    python scripts/benchmark_worlds.py [--quick] [--num-worlds 4096] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine

from wbgpu.worlds import Renderer, World, WorldBatch, WorldDefinition, load_world, world_names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds, fewer rounds")
    parser.add_argument("--num-worlds", type=int, default=4096)
    parser.add_argument("--output", type=Path, help="write the measurements here as JSON")
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else 9
    rows = {}
    print(f"{'world':16}{'loop us/step':>14}{'batch us/step':>15}{'ratio':>8}{'frames/s 256':>14}")
    for name in world_names():
        definition = load_world(name)
        check_same_outcomes(definition)
        row = measure(definition, arguments.num_worlds, rounds)
        rows[name] = row
        print(
            f"{name:16}{row['loop_microseconds']:14.1f}{row['batch_microseconds']:15.3f}"
            f"{row['ratio']:8.0f}{row['frames_per_second']:14.0f}",
            flush=True,
        )
    document = {
        "benchmark": "one step of many worlds: batch against a loop over single worlds",
        "batch_ratio_block_to_bowl": rows["block_to_bowl"]["ratio"],
        "batch_ratio_minimum": min(row["ratio"] for row in rows.values()),
        "num_worlds": arguments.num_worlds,
        "rounds": rounds,
        "worlds": rows,
        "machine": machine(("wbgpu", "numpy")),
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def check_same_outcomes(definition: WorldDefinition) -> None:
    batch = WorldBatch(definition, range(16))
    singles = [World(definition, seed) for seed in range(16)]
    for _ in range(20):
        actions = batch.draw_actions()
        outcomes = batch.step(actions)
        for single, action, outcome in zip(singles, actions, outcomes, strict=True):
            named = single.step(definition.schema.actions[action])
            expected = [
                v.outcomes[i] for v, i in zip(definition.schema.variables, outcome, strict=True)
            ]
            assert list(named.values()) == expected


def measure(definition: WorldDefinition, num_worlds: int, rounds: int) -> dict[str, float]:
    """Medians over rounds; each times one step of all worlds, both ways, in turn first."""
    generator = np.random.default_rng(0)
    names = definition.schema.actions
    actions = generator.integers(0, len(names), num_worlds)
    named = [names[action] for action in actions]
    batch = WorldBatch(definition, range(num_worlds))
    singles = [World(definition, seed) for seed in range(num_worlds)]

    def loop() -> None:
        for world, action in zip(singles, named, strict=True):
            world.step(action)

    sides: dict[str, Callable[[], object]] = {"loop": loop, "batch": lambda: batch.step(actions)}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    batch.step(actions)
    for index in range(rounds):
        for side in sides if index % 2 else reversed(sides):
            start = time.thread_time()
            sides[side]()
            seconds[side].append(time.thread_time() - start)
    pairs = list(zip(seconds["loop"], seconds["batch"], strict=True))
    return {
        "loop_microseconds": statistics.median(seconds["loop"]) / num_worlds * 1e6,
        "batch_microseconds": statistics.median(seconds["batch"]) / num_worlds * 1e6,
        "ratio": statistics.median(a / b for a, b in pairs),
        "frames_per_second": frames_per_second(definition, batch.observe()),
    }


def frames_per_second(definition: WorldDefinition, states: np.ndarray[Any, Any]) -> float:
    """Distinct states drawn per second at 256x256, once the shapes are known."""
    states = np.unique(states[:512], axis=0)
    renderer = Renderer(definition, 256)
    renderer.frames(states)
    start = time.thread_time()
    renderer.frames(states)
    return len(states) / (time.thread_time() - start)


if __name__ == "__main__":
    main()
