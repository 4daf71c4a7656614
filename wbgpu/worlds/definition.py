"""A world as data: its names, exact distributions and picture, checked when it is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.records.world import Schema, Variable
from wbgpu.worlds.draws import MAX_STEPS
from wbgpu.worlds.entry import Entry, unknown
from wbgpu.worlds.picture import Picture, parse_picture
from wbgpu.worlds.rules import ACTION, Rule, parse_distribution, parse_rule
from wbgpu.worlds.tables import OutcomeTable, compile_rules

_REQUIRED = ("name", "max_steps", "action_matters", "variables", "actions", "initial", "rules")
_OPTIONAL = ("description", "policy", "render")


@dataclass(frozen=True, eq=False)
class WorldDefinition:
    """A world that is ready to be stepped; make one with :func:`~wbgpu.worlds.load_world`.

    Attributes:
        schema: names of world, variables, outcomes and actions.
        description: one or more sentences for people; may be empty.
        max_steps: after how many steps an episode is done, unless a batch is told otherwise.
        action_matters: whether the world says that its actions change any odds.
        initial: distribution of the first state, per variable.
        transitions: distribution of the next state given state and action, per variable.
        policy: distribution of the action that the world's own behaviour policy takes in a state.
        picture: how a state is drawn, or ``None``.
        sha256: of all that decides what is drawn: names, distributions and policy. Not of
            ``description``, ``max_steps`` and ``picture``, nor of how the rules are written.
    """

    schema: Schema
    description: str
    max_steps: int
    action_matters: bool
    initial: tuple[OutcomeTable, ...]
    transitions: tuple[OutcomeTable, ...]
    policy: OutcomeTable
    picture: Picture | None
    sha256: str

    def transition(
        self, state: npt.NDArray[np.int64], action: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], ...]:
        """Exact distribution of the next state, for any states and actions.

        Args:
            state: int64 ``[B, V]``, indices of outcomes.
            action: int64 ``[B]``, indices of actions.

        Returns:
            For each variable float64 ``[B, K]``. The joint distribution is their product: given
            state and action, the variables are independent.

        Raises:
            ConfigurationError: a wrong shape, type or index.
        """
        state, action = self.checked_state(state), self.checked_action(action)
        if len(state) != len(action):
            raise ConfigurationError(
                f"expected one action per state, got {len(state)} states and {len(action)} actions"
            )
        return tuple(t.probabilities[t.cells(state, action)] for t in self.transitions)

    def action_probabilities(self, state: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Distribution of the behaviour policy's action in states ``[B, V]``: float64 ``[B, A]``.

        Raises:
            ConfigurationError: a wrong shape, type or index.
        """
        state = self.checked_state(state)
        return self.policy.probabilities[self.policy.cells(state, None)]

    def checked_state(self, state: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """``state`` as int64 ``[B, V]``, or an error that says which variable is out of range.

        Raises:
            ConfigurationError: see above.
        """
        num_variables = len(self.schema.variables)
        array = _integers(state, "state")
        if array.ndim != 2 or array.shape[1] != num_variables:
            raise ConfigurationError(
                f"state: expected the shape [B, {num_variables}], got {[*array.shape]}"
            )
        for column, variable in zip(array.T, self.schema.variables, strict=True):
            _check_range(column, variable.num_outcomes, f"state: {variable.name}")
        return array

    def checked_action(self, action: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """``action`` as int64 ``[B]``.

        Raises:
            ConfigurationError: a wrong shape, type or index.
        """
        array = _integers(action, "action")
        if array.ndim != 1:
            raise ConfigurationError(f"action: expected the shape [B], got {[*array.shape]}")
        _check_range(array, len(self.schema.actions), "action")
        return array

    def variable_index(self, name: str) -> int:
        """Position of a variable in states.

        Raises:
            ConfigurationError: there is none of this name; the message names the nearest.
        """
        names = [variable.name for variable in self.schema.variables]
        if name not in names:
            raise ConfigurationError(unknown(name, "variable", names))
        return names.index(name)

    def action_index(self, name: str) -> int:
        """Index of an action.

        Raises:
            ConfigurationError: there is none of this name; the message names the nearest.
        """
        if name not in self.schema.actions:
            raise ConfigurationError(unknown(name, "action", self.schema.actions))
        return self.schema.actions.index(name)


def parse_world(document: Mapping[str, Any], source: str) -> WorldDefinition:
    """Check a world's document and compile its rules; docs/worlds.md describes the format.

    Args:
        document: as YAML has it.
        source: names the document in errors.

    Raises:
        ConfigurationError: says where in the document something is wrong, and what to do.
    """
    section = Entry(document, source).section(_REQUIRED, _OPTIONAL)
    variables = _variables(section["variables"])
    schema = Schema(section["name"].new_name(), variables, section["actions"].new_names())
    per_variable = [variable.name for variable in variables]
    initial = section["initial"].section(per_variable)
    rules = section["rules"].section(per_variable)
    initial_tables, transitions = [], []
    for index, variable in enumerate(variables):
        start = initial[variable.name]
        certain = Rule((), parse_distribution(start, schema, variable, None), start)
        initial_tables.append(compile_rules([certain], schema, variable, start))
        place = rules[variable.name]
        parsed = [
            parse_rule(entry, schema, variable, own=index, reads_action=True)
            for entry in place.elements()
        ]
        transitions.append(compile_rules(parsed, schema, variable, place))
    policy = _policy(section.get("policy"), schema, section["actions"])
    description, render = section.get("description"), section.get("render")
    return WorldDefinition(
        schema=schema,
        description="" if description is None else description.text().strip(),
        max_steps=section["max_steps"].integer(1, MAX_STEPS),
        action_matters=section["action_matters"].boolean(),
        initial=tuple(initial_tables),
        transitions=tuple(transitions),
        policy=policy,
        picture=None if render is None else parse_picture(render, schema),
        sha256=_digest(schema, (*initial_tables, *transitions, policy)),
    )


def _variables(entry: Entry) -> tuple[Variable, ...]:
    variables = []
    for name, outcomes in entry.items():
        Entry(name, entry.source, entry.path).new_name()
        variables.append(Variable(name, outcomes.new_names()))
    if not variables:
        entry.fail("expected at least one variable")
    return tuple(variables)


def _policy(entry: Entry | None, schema: Schema, actions: Entry) -> OutcomeTable:
    action = Variable(ACTION, schema.actions)
    place = actions if entry is None else entry
    uniform = [Entry({"then": "uniform"}, actions.source, actions.path)]
    entries = uniform if entry is None else entry.elements()
    rules = [parse_rule(rule, schema, action, own=None, reads_action=False) for rule in entries]
    return compile_rules(rules, schema, action, place)


def _digest(schema: Schema, tables: tuple[OutcomeTable, ...]) -> str:
    names = [[variable.name, *variable.outcomes] for variable in schema.variables]
    layout = [[table.axes, table.shape] for table in tables]
    digest = hashlib.sha256(json.dumps([names, schema.actions, layout]).encode())
    for table in tables:
        digest.update(table.probabilities.astype("<f8").tobytes())
    return digest.hexdigest()


def _integers(value: npt.NDArray[np.int64], what: str) -> npt.NDArray[np.int64]:
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise ConfigurationError(f"{what}: expected an array of integers, got {array.dtype}")
    return array.astype(np.int64, copy=False)


def _check_range(indices: npt.NDArray[np.int64], size: int, what: str) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        bad = indices[(indices < 0) | (indices >= size)][0]
        raise ConfigurationError(f"{what}: expected indices of 0 to {size - 1}, got {bad}")
