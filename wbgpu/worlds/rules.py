"""The rule language: what ``when`` and ``then`` of a rule may say, parsed and checked.

A *term* is an outcome's name or a relation to the present value of a variable v: ``same_as(v)``,
``next(v)``, ``previous(v)``: the outcome that is named as v's value, as the one after it, or as the
one before it in the order of v's outcomes. docs/worlds.md is the page for readers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from wbgpu.records.world import Schema, Variable
from wbgpu.worlds.entry import Entry, unknown

SUM_TOLERANCE = 1e-12
"""How far the probabilities of a rule may be from 1 in sum."""

ACTION = "action"
"""What guards call the action, and the policy its outcome."""

_RELATION = re.compile(r"(same_as|next|previous)\(\s*(\w+)\s*\)")
_OWN_RELATIONS = MappingProxyType({"keep": 0, "next": 1, "previous": -1})
_OFFSETS = MappingProxyType({"same_as": 0, "next": 1, "previous": -1})


@dataclass(frozen=True)
class Relation:
    """The outcome named as the present value of a variable, or as the one before or after it.

    Attributes:
        axis: index of that variable.
        names: for each of its values the name of the outcome meant: itself at the ends.
        exists: for each of its values whether there is an outcome at that offset.
        text: as the rule says it.
    """

    axis: int
    names: tuple[str, ...]
    exists: tuple[bool, ...]
    text: str

    def indices(self, outcomes: tuple[str, ...], *, at_ends: bool) -> npt.NDArray[np.intp]:
        """For each value of the variable, the index of the outcome meant; -1 where there is none.

        Args:
            outcomes: of the variable that is compared or drawn.
            at_ends: whether the first has itself as previous, and the last itself as next.
        """
        places = [
            outcomes.index(name) if name in outcomes and (exists or at_ends) else -1
            for name, exists in zip(self.names, self.exists, strict=True)
        ]
        return np.array(places, dtype=np.intp)


Term: TypeAlias = "int | Relation"
"""Index of an outcome, or a relation."""


@dataclass(frozen=True)
class Condition:
    """One line of a guard: the value on an axis is (or is not) among some terms.

    Attributes:
        axis: index of the variable, or the number of variables for the action.
        terms: any of which may hold.
        is_negated: whether none may hold instead.
    """

    axis: int
    terms: tuple[Term, ...]
    is_negated: bool


@dataclass(frozen=True)
class Rule:
    """``when`` all conditions hold, the outcome is distributed as ``then`` says.

    Attributes:
        conditions: of the guard; none means always.
        then: terms and their probabilities, which sum to 1 within :data:`SUM_TOLERANCE`.
        entry: where the rule stands.
    """

    conditions: tuple[Condition, ...]
    then: tuple[tuple[Term, float], ...]
    entry: Entry

    @property
    def axes(self) -> set[int]:
        """Axes that the rule reads."""
        terms = [term for condition in self.conditions for term in condition.terms]
        terms += [term for term, _ in self.then]
        read = {term.axis for term in terms if isinstance(term, Relation)}
        return read | {condition.axis for condition in self.conditions}


def parse_rule(
    entry: Entry, schema: Schema, target: Variable, *, own: int | None, reads_action: bool
) -> Rule:
    """Parse one rule ``{when: ..., then: ...}``.

    Args:
        entry: the rule.
        schema: of the world.
        target: whose outcomes ``then`` distributes.
        own: the target's index among the variables; ``None`` for what is none, such as the action.
        reads_action: whether ``when`` may look at the action.
    """
    section = entry.section(("then",), ("when",))
    when = section.get("when")
    conditions = () if when is None else parse_guard(when, schema, reads_action=reads_action)
    return Rule(conditions, parse_distribution(section["then"], schema, target, own), entry)


def parse_guard(entry: Entry, schema: Schema, *, reads_action: bool) -> tuple[Condition, ...]:
    """Parse a guard ``{variable: term or terms or {not: ...}, action: name or names}``."""
    axes = {variable.name: axis for axis, variable in enumerate(schema.variables)}
    outcomes = [variable.outcomes for variable in schema.variables]
    if reads_action:
        axes[ACTION] = len(outcomes)
        outcomes.append(schema.actions)
    conditions = []
    for name, value in entry.items():
        if name not in axes:
            value.fail(unknown(name, "variable", axes))
        axis = axes[name]
        is_negated = isinstance(value.value, dict)
        if is_negated:
            value = value.section(("not",))["not"]
        members = value.elements() if isinstance(value.value, list) else [value]
        terms = tuple(_guard_term(member, schema, axis, outcomes[axis]) for member in members)
        conditions.append(Condition(axis, terms, is_negated))
    return tuple(conditions)


def _guard_term(entry: Entry, schema: Schema, axis: int, outcomes: tuple[str, ...]) -> Term:
    relation = _relation(entry, schema)
    if relation is None:
        return entry.index_in(outcomes, "outcome" if axis < len(schema.variables) else "action")
    if axis == len(schema.variables):
        entry.fail(f"an action cannot be compared with a variable ({relation.text})")
    if relation.axis == axis:
        entry.fail(f"{relation.text} compares a variable with itself")
    if not set(relation.names) & set(outcomes):
        entry.fail(f"{relation.text} can never hold: the two variables share no outcome's name")
    return relation


def parse_distribution(
    entry: Entry, schema: Schema, target: Variable, own: int | None
) -> tuple[tuple[Term, float], ...]:
    """Parse ``{term: probability, ...}``, ``uniform``, or one term that is certain.

    Raises:
        ConfigurationError: besides unknown names and numbers that are no probabilities: the
            probabilities do not sum to 1 within :data:`SUM_TOLERANCE`.
    """
    if entry.value == "uniform":
        return tuple((index, 1 / target.num_outcomes) for index in range(target.num_outcomes))
    if isinstance(entry.value, str):
        return ((_target_term(entry, schema, target, own), 1.0),)
    pairs = [
        (_target_term(Entry(key, entry.source, entry.path), schema, target, own), p.probability())
        for key, p in entry.items()
    ]
    total = math.fsum(probability for _, probability in pairs)
    if abs(total - 1) > SUM_TOLERANCE:
        entry.fail(f"the probabilities sum to {total!r}, expected 1 within {SUM_TOLERANCE:g}")
    return tuple(pairs)


def _target_term(entry: Entry, schema: Schema, target: Variable, own: int | None) -> Term:
    text = entry.text()
    if text in _OWN_RELATIONS:
        if own is None:
            entry.fail(f"{text!r} has no meaning here: there is no present value of {target.name}")
        return _related(own, _OWN_RELATIONS[text], schema, text)
    relation = _relation(entry, schema)
    if relation is None:
        return entry.index_in(target.outcomes, f"outcome of {target.name!r}")
    if own is None:
        entry.fail(f"{relation.text} has no meaning for {target.name}")
    return relation


def _relation(entry: Entry, schema: Schema) -> Relation | None:
    text = entry.value
    match = _RELATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    names = [variable.name for variable in schema.variables]
    if match[2] not in names:
        entry.fail(unknown(match[2], "variable", names))
    return _related(names.index(match[2]), _OFFSETS[match[1]], schema, match[0])


def _related(axis: int, offset: int, schema: Schema, text: str) -> Relation:
    outcomes = schema.variables[axis].outcomes
    places = range(len(outcomes))
    exists = tuple(place + offset in places for place in places)
    names = tuple(outcomes[place + offset if exists[place] else place] for place in places)
    return Relation(axis, names, exists, text)
