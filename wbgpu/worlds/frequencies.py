"""Do draws come as often as peek says? Checks of `check_world` that count.

Draws are counter-based, so that a check passes or fails the same way each time. The limits are
stated as chances: for another choice of seeds, a sound world would fail one comparison with a
chance of exp(-:data:`LOG_ODDS`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from wbgpu.worlds.batch import WorldBatch
from wbgpu.worlds.definition import WorldDefinition

LOG_ODDS = 16.0
"""Minus the log of the chance that a comparison fails a sound world: 1.1e-7."""

NUM_SEEDS = 4096
NUM_SITUATIONS = 12
MIN_EXPECTED = 10.0
"""Rarer outcomes are counted together: chi-square is a limit of large counts."""

Rows = Sequence[npt.NDArray[np.float64]]


def check_frequencies_over_seeds(
    definition: WorldDefinition, make: Callable[[Sequence[int]], WorldBatch]
) -> None:
    """First states, and actions and outcomes in some situations, over many seeds.

    Raises:
        AssertionError: they do not come as the definition says, are not independent of each
            other, or something of probability 0 happens.
    """
    schema = definition.schema
    first = [table.probabilities[0] for table in definition.initial]
    _expect_frequencies(make(range(NUM_SEEDS)).observe(), first, "first states")
    scout = make(range(1, NUM_SITUATIONS + 1))
    for step in range(min(definition.max_steps, 40)):
        scout.step(np.arange(step, step + len(scout)) % len(schema.actions))
    for index, state in enumerate(scout.observe()):
        action = index % len(schema.actions)
        names = [v.outcomes[i] for v, i in zip(schema.variables, state, strict=True)]
        batch = make(range(NUM_SEEDS))
        batch.set_state(np.tile(state, (NUM_SEEDS, 1)), num_steps=index % batch.max_steps)
        policy = [definition.action_probabilities(state[None])[0]]
        _expect_frequencies(
            batch.draw_actions()[:, None], policy, f"the policy's actions in {names}"
        )
        actions = np.full(NUM_SEEDS, action)
        rows = [row[0] for row in batch.peek(actions)]
        what = f"outcomes of {schema.actions[action]!r} in {names}"
        _expect_frequencies(batch.step(actions), rows, what)


def check_frequencies_along_episodes(
    definition: WorldDefinition, make: Callable[[Sequence[int]], WorldBatch]
) -> None:
    """Outcomes of each variable along episodes, and whether one step's tell about the next's.

    Raises:
        AssertionError: an outcome does not come as often as peek says, or draws repeat.
    """
    batch = make(range(100, 164))
    variables = definition.schema.variables
    sums = [np.zeros((2, variable.num_outcomes)) for variable in variables]
    variances = [np.zeros((2, variable.num_outcomes)) for variable in variables]
    before = [np.zeros((len(batch), variable.num_outcomes)) for variable in variables]
    for _ in range(min(definition.max_steps, 200)):
        actions = batch.draw_actions()
        rows = batch.peek(actions)
        outcomes = batch.step(actions)
        for index, row in enumerate(rows):
            happened = np.arange(row.shape[1]) == outcomes[:, index, None]
            surprise, variance = happened - row, row * (1 - row)
            sums[index] += [surprise.sum(axis=0), (before[index] * surprise).sum(axis=0)]
            squared = before[index] ** 2
            variances[index] += [variance.sum(axis=0), (squared * variance).sum(axis=0)]
            before[index] = surprise
    for variable, total, variance in zip(variables, sums, variances, strict=True):
        # Freedman's inequality for martingales with increments of at most 1.
        limit = LOG_ODDS / 3 + np.sqrt((LOG_ODDS / 3) ** 2 + 2 * LOG_ODDS * variance)
        for kind, outcome in np.argwhere(np.abs(total) > limit):
            what = "as often as peek says", "independent of the step before"
            raise AssertionError(
                f"expected {variable.name} = {variable.outcomes[outcome]} along episodes "
                f"{what[kind]}: got a deviation of {total[kind, outcome]:.1f} "
                f"(limit {limit[kind, outcome]:.1f})"
            )


def _expect_frequencies(outcomes: npt.NDArray[np.int64], rows: Rows, what: str) -> None:
    """Chi-square of each pair of columns, whose joint distribution is the product of two rows."""
    for column, row in zip(outcomes.T, rows, strict=True):
        if not (row[column] > 0).all():
            raise AssertionError(f"expected {what} without what has probability 0")
    if len(rows) == 1:
        _expect_counts(np.bincount(outcomes[:, 0], minlength=len(rows[0])), rows[0], what)
    for first, second in itertools.combinations(range(len(rows)), 2):
        joint = np.multiply.outer(rows[first], rows[second]).ravel()
        index = outcomes[:, first] * len(rows[second]) + outcomes[:, second]
        _expect_counts(np.bincount(index, minlength=len(joint)), joint, what)


def _expect_counts(
    counts: npt.NDArray[np.intp], probabilities: npt.NDArray[np.float64], what: str
) -> None:
    order = np.argsort(probabilities, kind="stable")
    expected = probabilities[order] * counts.sum()
    # The rarest outcomes, until enough of them are expected together.
    num_pooled = int(np.searchsorted(np.cumsum(expected), MIN_EXPECTED)) + 1
    starts = [0, *range(num_pooled, len(expected))]
    expected = np.add.reduceat(expected, starts)
    got = np.add.reduceat(counts[order].astype(np.float64), starts)
    chi_square = float(((got - expected) ** 2 / expected).sum())
    freedom = len(expected) - 1
    # Laurent and Massart 2000, lemma 1: a chi-square of that many degrees of freedom is larger
    # with a chance of at most exp(-LOG_ODDS).
    limit = freedom + 2 * math.sqrt(freedom * LOG_ODDS) + 2 * LOG_ODDS
    if chi_square > limit:
        raise AssertionError(
            f"expected {what} as often as peek says, and independent of each other: got a "
            f"chi-square of {chi_square:.1f} over {freedom} degrees of freedom (limit {limit:.1f})"
        )
