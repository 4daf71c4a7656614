"""Rules compiled into one table per variable, so that a batch steps by a few indexing operations.

The table holds the distribution for each combination of what the rules read, and of nothing else:
axes along which it is constant are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wbgpu.records.world import Schema, Variable
from wbgpu.worlds.entry import Entry
from wbgpu.worlds.rules import Condition, Relation, Rule, Term

MAX_TABLE_SIZE = 2**22
"""Probabilities in the largest table that is compiled: 32 MiB."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Exact distribution of one outcome for every combination of what it depends on.

    Attributes:
        axes: indices of the variables it depends on, ascending; the number of variables stands for
            the action.
        shape: number of values along each of these axes.
        probabilities: float64 ``[cells, K]``, cells in C order of the axes.
        thresholds: float64 ``[cells, K]``, cumulative sums; 1 from the last possible outcome on.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    probabilities: npt.NDArray[np.float64]
    thresholds: npt.NDArray[np.float64]

    def cells(
        self, state: npt.NDArray[np.int64], action: npt.NDArray[np.int64] | None
    ) -> npt.NDArray[np.intp]:
        """Rows of the table for states ``[B, V]`` and actions ``[B]``: ``[B]``."""
        cell = np.zeros(len(state), dtype=np.intp)
        for axis, size in zip(self.axes, self.shape, strict=True):
            column = state[:, axis] if axis < state.shape[1] else action
            assert column is not None, "this table depends on the action"
            cell = cell * size + column
        return cell

    def draw(
        self, cells: npt.NDArray[np.intp], uniforms: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.int64]:
        """Outcomes ``[B]`` for uniforms in [0, 1): never one of probability 0."""
        is_beyond = uniforms[:, None] >= self.thresholds[cells]
        outcomes: npt.NDArray[np.int64] = is_beyond.sum(axis=1, dtype=np.int64)
        return outcomes


def compile_rules(
    rules: Sequence[Rule], schema: Schema, target: Variable, place: Entry
) -> OutcomeTable:
    """Evaluate rules, first match first, for every combination of what they read.

    Args:
        rules: in their order.
        schema: of the world.
        target: whose outcomes they distribute.
        place: where the rules stand, for errors.

    Raises:
        ConfigurationError: a combination that no rule covers, a rule that can never match, a term
            that is no outcome of ``target`` where its rule matches, or a table of more than
            :data:`MAX_TABLE_SIZE` numbers.
    """
    grid = _Grid(rules, schema, target, place)
    table = np.zeros((math.prod(grid.shape), target.num_outcomes))
    is_open = np.ones(grid.shape, dtype=np.bool_)
    for rule in rules:
        matches = is_open & grid.where(rule.conditions)
        if not matches.any():
            rule.entry.fail("this rule never applies: rules above cover all that it describes")
        cells = np.flatnonzero(matches)
        for term, probability in rule.then:
            outcome = grid.outcome(term, target.outcomes)
            missing = matches & (outcome < 0)
            if isinstance(term, Relation) and missing.any():
                rule.entry.fail(
                    f"{term.text} is no outcome of {target.name!r} where {grid.describe(missing)}"
                )
            # A cell occurs once in `cells`, so no addition is lost.
            table[cells, outcome.ravel()[cells]] += probability
        is_open &= ~matches
    if is_open.any():
        place.fail(f"no rule covers {grid.describe(is_open)}; add one, or a last one without when")
    return _outcome_table(grid.axes, table.reshape(*grid.shape, -1))


def _outcome_table(axes: tuple[int, ...], table: npt.NDArray[np.float64]) -> OutcomeTable:
    kept: list[int] = []
    for axis in axes:
        place = len(kept)
        first = np.take(table, [0], axis=place)
        if (table == first).all():
            table = first[(slice(None),) * place + (0,)]
        else:
            kept.append(axis)
    shape = table.shape[:-1]
    probabilities = np.ascontiguousarray(table.reshape(-1, table.shape[-1]))
    thresholds = np.cumsum(probabilities, axis=1)
    last_possible = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(axis=1)
    # Rounding must not leave a gap below 1 in which the last, maybe impossible, outcome is drawn.
    thresholds[np.arange(probabilities.shape[1]) >= last_possible[:, None]] = 1.0
    for array in (probabilities, thresholds):
        array.setflags(write=False)
    return OutcomeTable(tuple(kept), shape, probabilities, thresholds)


class _Grid:
    """All combinations of the values that some rules read, as an array with one axis each."""

    def __init__(
        self, rules: Sequence[Rule], schema: Schema, target: Variable, place: Entry
    ) -> None:
        self.axes = tuple(sorted(set().union(*(rule.axes for rule in rules))))
        self._names = [*(v.name for v in schema.variables), "action"]
        self._outcomes = [*(v.outcomes for v in schema.variables), schema.actions]
        self.shape = tuple(len(self._outcomes[axis]) for axis in self.axes)
        size = math.prod(self.shape) * target.num_outcomes
        if size > MAX_TABLE_SIZE:
            read = ", ".join(self._names[axis] for axis in self.axes)
            place.fail(
                f"these rules read {read}, which makes a table of {size:,} probabilities; at most "
                f"{MAX_TABLE_SIZE:,} are compiled: read fewer variables, or split one"
            )

    def where(self, conditions: Sequence[Condition]) -> Mask:
        """Where all conditions hold, over the whole grid."""
        mask: Mask = np.ones(self.shape, dtype=np.bool_)
        for condition in conditions:
            value = self._values(condition.axis)
            holds: Mask = np.zeros(self.shape, dtype=np.bool_)
            for term in condition.terms:
                wanted = self.outcome(term, self._outcomes[condition.axis], at_ends=False)
                holds |= value == wanted
            mask &= ~holds if condition.is_negated else holds
        return mask

    def outcome(
        self, term: Term, outcomes: tuple[str, ...], *, at_ends: bool = True
    ) -> npt.NDArray[np.intp]:
        """Index of the outcome that a term means, over the whole grid; -1 where there is none."""
        if not isinstance(term, Relation):
            return np.full(self.shape, term, dtype=np.intp)
        indices = term.indices(outcomes, at_ends=at_ends)
        return indices[self._values(term.axis)]

    def _values(self, axis: int) -> npt.NDArray[np.intp]:
        place = self.axes.index(axis)
        shape = [1] * len(self.shape)
        shape[place] = self.shape[place]
        values = np.arange(self.shape[place], dtype=np.intp).reshape(shape)
        return np.broadcast_to(values, self.shape)

    def describe(self, mask: Mask) -> str:
        """The first combination of a mask, in words."""
        cell = np.argwhere(mask)[0]
        parts = [
            f"{self._names[axis]} = {self._outcomes[axis][value]}"
            for axis, value in zip(self.axes, cell, strict=True)
        ]
        return ", ".join(parts) or "any state"
