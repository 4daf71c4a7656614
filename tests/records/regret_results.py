"""Regret results of small games."""

from __future__ import annotations

import functools

from tests.contestants.near_truth import Mixed, Reckless, Tempered
from wbgpu.contestants import KrichevskyTrofimov, Oracle
from wbgpu.evaluation.prequential import answer_key, run_regret
from wbgpu.worlds import load_world

CONTESTANTS = {
    "oracle": lambda world: Oracle(answer_key(world)),
    "kt": lambda world: KrichevskyTrofimov(world.schema),
    "tempered": lambda world: Tempered(answer_key(world), 1.2),
    "mixed": lambda world: Mixed(answer_key(world), 0.1),
    "reckless": lambda world: Reckless(answer_key(world)),
}


@functools.cache
def regret_result(contestant="kt", *, world="spectator", seeds=(0, 1, 2**64 - 1), num_steps=12):
    """A result, which is not to be changed."""
    definition = load_world(world)
    return run_regret(
        definition,
        CONTESTANTS[contestant](definition),
        seeds,
        num_steps,
        name=contestant,
        configuration={"contestant": {"_target_": contestant}},
        command="wbgpu regret",
    )
