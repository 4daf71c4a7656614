"""A learner that counts: Krichevsky & Trofimov, The performance of universal encoding, 1981.

In a context where outcome k followed n_k times out of n, its probability is
(n_k + 1/2) / (n + K/2). Against the best fixed distribution of a context it loses about
(K - 1)/2 * ln n nats over n visits, as little as any learner can.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

import numpy as np

from wbgpu.contestants.contestant import Forecast, Indices
from wbgpu.errors import ConfigurationError
from wbgpu.records.world import Schema

ACTION = "action"
"""Stands for the action in a context; no variable can be called so."""

MAX_COUNTS = 2**20
"""Counts of one learner, all variables together: 8 MiB."""

MAX_BATCH_COUNTS = 2**27
"""Counts of a batch of learners: 1 GiB."""

Context = Sequence[str]


class KrichevskyTrofimov:
    """Counts for each variable what followed in which context.

    Args:
        schema: of the world.
        context: what a variable's context consists of: names of variables, whose present outcomes
            are meant, and ``action``. One list for all variables, or a list per variable by name;
            a variable without one has itself and the action, which is the default for all. An
            empty list is a learner without memory.

    Raises:
        ConfigurationError: a name is unknown or stands twice, or the counts would be more than
            :data:`MAX_COUNTS`.
    """

    def __init__(
        self, schema: Schema, context: Context | Mapping[str, Context] | None = None
    ) -> None:
        names = [variable.name for variable in schema.variables]
        self._sizes = [variable.num_outcomes for variable in schema.variables]
        axis_sizes = [*self._sizes, len(schema.actions)]
        chosen = _contexts(context, names)
        # For each variable the columns of [state, action] that make its context.
        self._axes = [[[*names, ACTION].index(name) for name in chosen[n]] for n in names]
        self._strides = [
            [math.prod(axis_sizes[a] for a in axes[i + 1 :]) for i in range(len(axes))]
            for axes in self._axes
        ]
        self._num_cells = [math.prod(axis_sizes[a] for a in axes) for axes in self._axes]
        largest = max(range(len(names)), key=lambda v: self._num_cells[v] * self._sizes[v])
        if self._num_counts > MAX_COUNTS:
            raise ConfigurationError(
                f"context: {self._num_counts:,} counts per episode, of which most for "
                f"{names[largest]!r} in the context [{', '.join(chosen[names[largest]])}]; at most "
                f"{MAX_COUNTS:,} are kept: name fewer variables"
            )
        self.reset(1)

    def reset(self, batch_size: int) -> None:
        """Forget all counts.

        Raises:
            ConfigurationError: the counts of the batch would not fit into 1 GiB.
        """
        if batch_size * self._num_counts > MAX_BATCH_COUNTS:
            raise ConfigurationError(
                f"batch_size: {batch_size} episodes of {self._num_counts:,} counts each do not fit "
                f"into 1 GiB; at most {MAX_BATCH_COUNTS // self._num_counts} do"
            )
        self._rows = np.arange(batch_size)
        self._counts = [
            np.zeros((batch_size, cells, size), dtype=np.int64)
            for cells, size in zip(self._num_cells, self._sizes, strict=True)
        ]

    def predict(self, state: Indices, action: Indices) -> Forecast:
        """See :class:`~wbgpu.contestants.Contestant`."""
        forecast = []
        for v, (counts, size) in enumerate(zip(self._counts, self._sizes, strict=True)):
            seen = counts[self._rows, self._cells(v, state, action)]
            forecast.append((seen + 0.5) / (seen.sum(axis=1, keepdims=True) + 0.5 * size))
        return tuple(forecast)

    def learn(self, state: Indices, action: Indices, outcome: Indices) -> None:
        """Count what followed."""
        for v, counts in enumerate(self._counts):
            # Every row is another learner's, so no cell stands twice and no count is lost.
            counts[self._rows, self._cells(v, state, action), outcome[:, v]] += 1

    @property
    def _num_counts(self) -> int:
        return sum(n * size for n, size in zip(self._num_cells, self._sizes, strict=True))

    def _cells(self, variable: int, state: Indices, action: Indices) -> Indices:
        cells: Indices = np.zeros(len(action), dtype=np.int64)
        for axis, stride in zip(self._axes[variable], self._strides[variable], strict=True):
            cells += stride * (action if axis == state.shape[1] else state[:, axis])
        return cells


def _contexts(
    context: Context | Mapping[str, Context] | None, names: Sequence[str]
) -> dict[str, list[str]]:
    """The context of each variable."""
    given: Mapping[str, Context]
    if context is None:
        given = {}
    elif isinstance(context, Mapping):
        given = context
    else:
        given = dict.fromkeys(names, context)
    for name in given:
        _check_name(name, names, "context")
    contexts = {name: _names(given.get(name, [name, ACTION]), name) for name in names}
    for name, parts in contexts.items():
        for part in parts:
            _check_name(part, [*names, ACTION], f"context of {name!r}")
        if len(set(parts)) != len(parts):
            twice = next(part for part in parts if parts.count(part) > 1)
            raise ConfigurationError(f"context of {name!r}: {twice!r} stands twice")
    return contexts


def _names(context: Context, variable: str) -> list[str]:
    if isinstance(context, str) or not isinstance(context, Sequence):
        raise ConfigurationError(
            f"context of {variable!r}: expected a list of names, got {context!r}"
        )
    return list(context)


def _check_name(name: str, known: Sequence[str], where: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)[0]
        raise ConfigurationError(
            f"{where}: unknown variable {name!r}; nearest: {near!r}; known: {', '.join(known)}"
        )
