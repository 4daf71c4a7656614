"""Many episodes of one world at once."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.records.world import Schema
from wbgpu.worlds.definition import WorldDefinition
from wbgpu.worlds.draws import MAX_STEPS, EpisodeDraws
from wbgpu.worlds.tables import OutcomeTable


class WorldBatch:
    """B episodes, one per seed, that take their steps together.

    An episode depends on definition, seed, key and actions, and not on the batch it is in, nor on
    the platform. Arrays that are handed out are the caller's own.

    Args:
        definition: the world.
        seeds: B integers of 0 ... 2**64 - 1.
        key: a secret of 16 to 64 bytes that is mixed into all draws: without it, nobody can replay
            the episodes from definition and seeds.
        max_steps: after how many steps the episodes are done; the definition's by default.

    Raises:
        ConfigurationError: no seed, or a seed, key or ``max_steps`` out of range.
    """

    def __init__(
        self,
        definition: WorldDefinition,
        seeds: Iterable[int],
        *,
        key: bytes | None = None,
        max_steps: int | None = None,
    ) -> None:
        self.definition = definition
        self.max_steps = definition.max_steps if max_steps is None else max_steps
        if not (_is_integer(self.max_steps) and 1 <= self.max_steps <= MAX_STEPS):
            raise ConfigurationError(
                f"max_steps: expected an integer from 1 to {MAX_STEPS}, got {self.max_steps!r}"
            )
        self._draws = EpisodeDraws(seeds, key)
        self._step = 0
        # Nothing is drawn from it: the first state depends on nothing.
        self._state: npt.NDArray[np.int64] = np.zeros(
            (len(self), len(self.schema.variables)), dtype=np.int64
        )
        self._state = self._drawn(definition.initial, None, step=0)

    def __len__(self) -> int:
        """B, the number of episodes."""
        return len(self._draws.seeds)

    @property
    def schema(self) -> Schema:
        """Names of variables, outcomes and actions."""
        return self.definition.schema

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the episodes."""
        return self._draws.seeds

    @property
    def num_steps(self) -> int:
        """How many steps have been taken."""
        return self._step

    @property
    def done(self) -> npt.NDArray[np.bool_]:
        """Which episodes are at their end: bool ``[B]``; all end together."""
        return np.full(len(self), self._step >= self.max_steps)

    def observe(self) -> npt.NDArray[np.int64]:
        """The present states: int64 ``[B, V]``."""
        return np.array(self._state)

    def peek(self, actions: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], ...]:
        """Exact distribution of the state after these actions; changes nothing.

        Args:
            actions: int64 ``[B]``.

        Returns:
            For each variable float64 ``[B, K]``.

        Raises:
            ConfigurationError: a wrong shape, type or index.
        """
        return self.definition.transition(self._state, self._checked(actions))

    def step(self, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Take one step; returns the outcomes, which are the new states: int64 ``[B, V]``.

        Raises:
            ConfigurationError: a wrong shape, type or index, or the episodes are done; nothing has
                happened then.
        """
        actions = self._checked(actions)
        if self._step >= self.max_steps:
            raise ConfigurationError(
                f"the episodes are done after {self.max_steps} steps: no further step can be taken"
            )
        self._state = self._drawn(self.definition.transitions, actions, step=self._step + 1)
        self._step += 1
        return np.array(self._state)

    def draw_actions(self) -> npt.NDArray[np.int64]:
        """Actions that the world's behaviour policy takes now: int64 ``[B]``; changes nothing."""
        policy = self.definition.policy
        return policy.draw(policy.cells(self._state, None), self._draws.action(self._step + 1))

    def fork(self) -> WorldBatch:
        """An independent copy that would continue with the same outcomes for the same actions."""
        # States are replaced and never written to, so that they can be shared.
        return copy.copy(self)

    def set_state(self, state: npt.NDArray[np.int64], num_steps: int | None = None) -> None:
        """Continue from other states, such as those of a saved episode.

        Definition, seeds, key, states and the number of steps taken are all there is to an episode.

        Args:
            state: int64 ``[B, V]``.
            num_steps: how many steps count as taken; as many as before by default.

        Raises:
            ConfigurationError: a wrong shape, type, index or number.
        """
        state = self.definition.checked_state(state)
        if len(state) != len(self):
            raise ConfigurationError(f"state: expected {len(self)} states, got {len(state)}")
        if num_steps is not None and not (
            _is_integer(num_steps) and 0 <= num_steps <= self.max_steps
        ):
            raise ConfigurationError(
                f"num_steps: expected an integer from 0 to {self.max_steps}, got {num_steps!r}"
            )
        self._state = state.copy()
        self._step = self._step if num_steps is None else num_steps

    def _drawn(
        self,
        tables: tuple[OutcomeTable, ...],
        actions: npt.NDArray[np.int64] | None,
        step: int,
    ) -> npt.NDArray[np.int64]:
        uniforms = self._draws.outcomes(step, len(tables))
        drawn = np.empty_like(self._state)
        for index, table in enumerate(tables):
            drawn[:, index] = table.draw(table.cells(self._state, actions), uniforms[index])
        return drawn

    def _checked(self, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        actions = self.definition.checked_action(actions)
        if len(actions) != len(self):
            raise ConfigurationError(f"action: expected {len(self)} actions, got {len(actions)}")
        return actions


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
