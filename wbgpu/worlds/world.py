"""One episode of a world, in names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wbgpu.errors import ConfigurationError
from wbgpu.records.world import Schema
from wbgpu.worlds.batch import WorldBatch
from wbgpu.worlds.definition import WorldDefinition
from wbgpu.worlds.entry import unknown


@dataclass(frozen=True)
class Distribution:
    """A categorical distribution.

    Attributes:
        outcomes: names, in the order of their indices.
        probabilities: one per outcome.
    """

    outcomes: tuple[str, ...]
    probabilities: tuple[float, ...]

    def __getitem__(self, outcome: str) -> float:
        """Probability of one outcome."""
        if outcome not in self.outcomes:
            raise KeyError(outcome)
        return self.probabilities[self.outcomes.index(outcome)]


class World:
    """One episode: the same outcomes as in a :class:`~wbgpu.worlds.WorldBatch` with this seed.

    Args:
        definition: the world.
        seed: 0 ... 2**64 - 1.
        key: a secret that is mixed into all draws; see :class:`~wbgpu.worlds.WorldBatch`.
        max_steps: after how many steps the episode is done; the definition's by default.

    Raises:
        ConfigurationError: seed, key or ``max_steps`` out of range.
    """

    def __init__(
        self,
        definition: WorldDefinition,
        seed: int,
        *,
        key: bytes | None = None,
        max_steps: int | None = None,
    ) -> None:
        self._batch = WorldBatch(definition, [seed], key=key, max_steps=max_steps)

    @property
    def definition(self) -> WorldDefinition:
        """The world."""
        return self._batch.definition

    @property
    def schema(self) -> Schema:
        """Names of variables, outcomes and actions."""
        return self._batch.schema

    @property
    def num_steps(self) -> int:
        """How many steps have been taken."""
        return self._batch.num_steps

    @property
    def done(self) -> bool:
        """Whether the episode is at its end."""
        return bool(self._batch.done[0])

    def observe(self) -> dict[str, str]:
        """Present outcome of each variable."""
        return self._named(self._batch.observe()[0].tolist())

    def peek(self, action: str) -> dict[str, Distribution]:
        """Exact distribution of each variable after an action; changes nothing.

        Raises:
            ConfigurationError: there is no such action.
        """
        rows = self._batch.peek(self._actions(action))
        return {
            variable.name: Distribution(variable.outcomes, tuple(row[0].tolist()))
            for variable, row in zip(self.schema.variables, rows, strict=True)
        }

    def step(self, action: str) -> dict[str, str]:
        """Take one step; returns the outcome of each variable, which is the new state.

        Raises:
            ConfigurationError: there is no such action, or the episode is done.
        """
        return self._named(self._batch.step(self._actions(action))[0].tolist())

    def draw_action(self) -> str:
        """The action that the world's behaviour policy takes now; changes nothing."""
        return self.schema.actions[int(self._batch.draw_actions()[0])]

    def fork(self) -> World:
        """An independent copy that would continue with the same outcomes for the same actions."""
        copied = object.__new__(World)
        copied._batch = self._batch.fork()
        return copied

    def set_state(self, state: Mapping[str, str], num_steps: int | None = None) -> None:
        """Continue from another state.

        Args:
            state: outcome of each variable.
            num_steps: how many steps count as taken; as many as before by default.

        Raises:
            ConfigurationError: a variable is missing, or a name or the number is wrong.
        """
        names = {variable.name: variable.outcomes for variable in self.schema.variables}
        for name in (*state, *names):
            if name not in names:
                raise ConfigurationError(unknown(name, "variable", names))
            if name not in state:
                raise ConfigurationError(f"state: the variable {name!r} is missing")
            if state[name] not in names[name]:
                reason = unknown(state[name], f"outcome of {name!r}", names[name])
                raise ConfigurationError(f"state: {reason}")
        indices = [outcomes.index(state[name]) for name, outcomes in names.items()]
        self._batch.set_state(np.array([indices], dtype=np.int64), num_steps)

    def _actions(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([self.definition.action_index(name)], dtype=np.int64)

    def _named(self, indices: list[int]) -> dict[str, str]:
        return {
            variable.name: variable.outcomes[index]
            for variable, index in zip(self.schema.variables, indices, strict=True)
        }
