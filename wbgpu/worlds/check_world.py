"""The contract of a world, shipped as a conformance check for worlds of your own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from wbgpu.errors import ConfigurationError
from wbgpu.worlds.batch import WorldBatch
from wbgpu.worlds.definition import WorldDefinition
from wbgpu.worlds.frequencies import (
    check_frequencies_along_episodes,
    check_frequencies_over_seeds,
)
from wbgpu.worlds.rules import SUM_TOLERANCE

MakeBatch = Callable[[WorldDefinition, Sequence[int]], WorldBatch]

_Make = Callable[[Sequence[int]], WorldBatch]
_NUM_STATES = 4096


def check_world(definition: WorldDefinition, make_batch: MakeBatch = WorldBatch) -> None:
    """Check that a world keeps the contract.

    Probabilities sum to 1; peek is pure; a fork is independent and continues identically; an
    episode is the same in every batch; frequencies over many seeds and along an episode match peek,
    and what has probability 0 never happens; actions move the odds exactly if the world says so;
    what is done takes no further step.

    Args:
        definition: the world; it is not changed.
        make_batch: makes a batch from a definition and seeds, for batches of your own.

    Raises:
        AssertionError: says which part of the contract is broken.
    """
    make = partial(make_batch, definition)
    for check in (
        _check_probabilities,
        _check_actions_that_matter,
        _check_peek_is_pure,
        _check_forks,
        _check_batches,
        check_frequencies_over_seeds,
        check_frequencies_along_episodes,
        _check_end,
    ):
        check(definition, make)


def _check_probabilities(definition: WorldDefinition, make: _Make) -> None:
    del make
    states = _some_states(definition)
    for action, name in enumerate(definition.schema.actions):
        rows = definition.transition(states, np.full(len(states), action))
        for variable, row in zip(definition.schema.variables, rows, strict=True):
            what = f"peek({name}) of {variable.name}"
            shape = len(states), variable.num_outcomes
            _expect(row.shape == shape, f"{what}: the shape {shape}, got {row.shape}")
            _expect(row.dtype == np.float64, f"{what}: float64, got {row.dtype}")
            _expect(bool((row >= 0).all()), f"{what}: no negative probability")
            error = float(np.abs(row.sum(axis=1) - 1).max())
            _expect(error <= 2 * SUM_TOLERANCE, f"{what}: a sum of 1, off by {error:.3g}")
    policy = definition.action_probabilities(states)
    _expect(bool((policy >= 0).all()), "policy: no negative probability")
    error = float(np.abs(policy.sum(axis=1) - 1).max())
    _expect(error <= 2 * SUM_TOLERANCE, f"policy: a sum of 1, off by {error:.3g}")


def _check_actions_that_matter(definition: WorldDefinition, make: _Make) -> None:
    del make
    states = _some_states(definition)
    first = definition.transition(states, np.zeros(len(states), dtype=np.int64))
    for action, name in enumerate(definition.schema.actions):
        rows = definition.transition(states, np.full(len(states), action))
        moves = [not np.array_equal(a, b) for a, b in zip(first, rows, strict=True)]
        if definition.action_matters and any(moves):
            return
        if any(moves):
            variable = definition.schema.variables[moves.index(True)].name
            raise AssertionError(
                "expected no action to matter, as action_matters: false says; but "
                f"{name!r} moves the odds of {variable!r}"
            )
    _expect(
        not definition.action_matters,
        "an action that moves the odds of a variable, as action_matters: true says",
    )


def _check_peek_is_pure(definition: WorldDefinition, make: _Make) -> None:
    peeked, untouched = make(range(64)), make(range(64))
    for _ in range(min(definition.max_steps, 20)):
        actions = untouched.draw_actions()
        states = untouched.observe()
        for action, name in enumerate(definition.schema.actions):
            chosen = np.full(64, action)
            exact = definition.transition(states, chosen)
            for row, expected in zip(peeked.peek(chosen), exact, strict=True):
                _expect(np.array_equal(row, expected), f"peek({name}) as the definition has it")
                _scribble(row)
        _scribble(peeked.observe())
        drawn = peeked.draw_actions()
        _expect(np.array_equal(drawn, actions), "the same actions drawn after peek")
        after = peeked.step(actions)
        _expect(np.array_equal(after, untouched.step(actions)), "the same outcomes after peek")
        _scribble(after)
        same = np.array_equal(peeked.observe(), untouched.observe())
        _expect(same, "the same state after peek, and after writing to what was handed out")


def _check_forks(definition: WorldDefinition, make: _Make) -> None:
    original = make(range(64))
    length = min(definition.max_steps, 20)
    for _ in range(length // 2):
        original.step(original.draw_actions())
    before = original.observe()
    fork, other = original.fork(), original.fork()
    outcomes = []
    for _ in range(length - length // 2):
        outcomes.append((fork.draw_actions(), fork.peek(fork.draw_actions())))
        fork.step(outcomes[-1][0])
        other.step(np.zeros(64, dtype=np.int64))
    _expect(np.array_equal(original.observe(), before), "a world that its forks leave alone")
    _expect(original.num_steps == length // 2, "a count of steps that forks leave alone")
    for actions, rows in outcomes:
        again = original.peek(actions)
        same = all(np.array_equal(a, b) for a, b in zip(rows, again, strict=True))
        _expect(same, "a fork that peeks what its original peeks")
        original.step(actions)
    same = np.array_equal(original.observe(), fork.observe())
    _expect(same, "a fork that continues as its original does")


def _check_batches(definition: WorldDefinition, make: _Make) -> None:
    seeds = [0, 1, 2**63, 2**64 - 1, 7, 7]
    whole, reverse = make(seeds), make(seeds[::-1])
    singles = [make([seed]) for seed in seeds]
    length = min(definition.max_steps, 50)
    for step in range(length + 1):
        states = whole.observe()
        what = f"step {step}: the same episodes"
        _expect(np.array_equal(states, reverse.observe()[::-1]), f"{what} in another order")
        alone = np.concatenate([single.observe() for single in singles])
        _expect(np.array_equal(states, alone), f"{what} in batches of one")
        _expect(np.array_equal(states[4], states[5]), f"{what} for one seed given twice")
        if step == length:
            break
        actions = whole.draw_actions()
        whole.step(actions)
        reverse.step(actions[::-1])
        for single, action in zip(singles, actions, strict=True):
            _expect(bool(single.draw_actions()[0] == action), f"{what}: the same actions drawn")
            single.step(np.array([action]))


def _check_end(definition: WorldDefinition, make: _Make) -> None:
    batch = make([3, 4])
    _expect(not batch.done.any(), "a new world that is not done")
    batch.set_state(batch.observe(), num_steps=batch.max_steps - 1)
    _expect(not batch.done.any(), "a world that is not done before its last step")
    batch.step(batch.draw_actions())
    _expect(bool(batch.done.all()), f"a world that is done after {batch.max_steps} steps")
    last = batch.observe()
    try:
        batch.step(np.zeros(2, dtype=np.int64))
    except ConfigurationError:
        _expect(np.array_equal(batch.observe(), last), "a refused step that changes nothing")
    else:
        raise AssertionError("expected ConfigurationError for a step after the end, got no error")
    del definition


def _some_states(definition: WorldDefinition) -> npt.NDArray[np.int64]:
    """All states, or evenly spread ones where there are many: int64 ``[S, V]``."""
    sizes = [variable.num_outcomes for variable in definition.schema.variables]
    total = math.prod(sizes)
    num_states = min(total, _NUM_STATES)
    # Python integers: the number of states has no bound.
    numbers = [index * total // num_states for index in range(num_states)]
    columns = []
    for size in reversed(sizes):
        columns.append([number % size for number in numbers])
        numbers = [number // size for number in numbers]
    return np.stack([np.array(column, dtype=np.int64) for column in reversed(columns)], axis=1)


def _scribble(array: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> None:
    if array.flags.writeable:
        array[...] = -1


def _expect(condition: bool, contract: str) -> None:
    if not condition:
        raise AssertionError(f"expected {contract}")
