"""Whole episodes as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.worlds.batch import WorldBatch
from wbgpu.worlds.definition import WorldDefinition


@dataclass(frozen=True, eq=False)
class Rollout:
    """Episodes under a world's behaviour policy.

    Attributes:
        states: int64 ``[B, T + 1, V]``, the first state and the one after each step.
        actions: int64 ``[B, T]``.
    """

    states: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]


def roll_out(
    definition: WorldDefinition,
    seeds: Iterable[int],
    num_steps: int,
    *,
    key: bytes | None = None,
) -> Rollout:
    """Play episodes with the world's own behaviour policy.

    Args:
        definition: the world.
        seeds: one per episode.
        num_steps: T.
        key: a secret that is mixed into all draws.

    Raises:
        ConfigurationError: seeds, key or ``num_steps`` out of range.
    """
    if num_steps < 1:
        raise ConfigurationError(f"num_steps: expected 1 or more, got {num_steps}")
    batch = WorldBatch(definition, seeds, key=key, max_steps=num_steps)
    states, actions = [batch.observe()], []
    for _ in range(num_steps):
        actions.append(batch.draw_actions())
        states.append(batch.step(actions[-1]))
    return Rollout(np.stack(states, axis=1), np.stack(actions, axis=1))
