from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from tests.oracles import world_loops
from tests.worlds.documents import CART
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import WorldBatch, load_world, roll_out

DOCUMENTS = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((REPOSITORY / "configs/world").glob("*.yaml"))
} | {"cart": CART}
WORLD = load_world(CART)
KEY = b"a secret of the server's"


def names(document, state):
    return {n: o[i] for (n, o), i in zip(document["variables"].items(), state, strict=True)}


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_an_episode_is_that_of_the_slow_loop(name, seed):
    """First state, policy, draws and rules together: what another program would play."""
    document = DOCUMENTS[name]
    states, actions = world_loops.episode(document, seed, 25)
    rollout = roll_out(load_world(document), [3, seed], 25)
    assert [names(document, state) for state in rollout.states[1]] == states
    assert [document["actions"][action] for action in rollout.actions[1]] == actions


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6), st.integers(0, 5), st.data())
def test_episodes_do_not_depend_on_their_batch(seeds, num_extra, data):
    """A contestant's score must not depend on who else is scored."""
    order = data.draw(st.permutations(range(len(seeds))))
    batch = [seeds[index] for index in order] + list(range(num_extra))
    whole = roll_out(WORLD, batch, 8)
    for row, index in enumerate(order):
        alone = roll_out(WORLD, [seeds[index]], 8)
        np.testing.assert_array_equal(whole.states[row], alone.states[0])
        np.testing.assert_array_equal(whole.actions[row], alone.actions[0])


def test_a_key_makes_other_episodes():
    """A client with the world's file and the seed must not be able to replay a scored session."""
    seeds = range(200)
    public, secret, other = (
        roll_out(WORLD, seeds, 20, key=key).states for key in (None, KEY, KEY + b"2")
    )
    for first, second in ((public, secret), (public, other), (secret, other)):
        assert (first != second).any(axis=(1, 2)).all()
    np.testing.assert_array_equal(secret, roll_out(WORLD, seeds, 20, key=KEY).states)


def test_peek_is_the_definitions_transition():
    """The answer key of a batch and that of states at large are one."""
    batch = WorldBatch(WORLD, range(50))
    actions = batch.draw_actions()
    expected = WORLD.transition(batch.observe(), actions)
    for row, other in zip(batch.peek(actions), expected, strict=True):
        np.testing.assert_array_equal(row, other)
        assert row.dtype == np.float64
    outcomes = batch.step(actions)
    for column, row in zip(outcomes.T, expected, strict=True):
        assert (np.take_along_axis(row, column[:, None], axis=1) > 0).all()
    np.testing.assert_array_equal(outcomes, batch.observe())
    assert outcomes.dtype == np.int64


def test_actions_do_not_share_draws_with_outcomes():
    """The same actions must follow whether outcomes were looked at, drawn or not."""
    batch = WorldBatch(WORLD, range(50))
    first = batch.draw_actions()
    np.testing.assert_array_equal(first, batch.draw_actions())
    batch.step(np.zeros(50, dtype=np.int64))
    assert (first != batch.draw_actions()).any()


def test_ends_after_max_steps():
    """A step after the end would be scored against an answer key that nobody announced."""
    batch = WorldBatch(WORLD, [1, 2], max_steps=2)
    actions = np.zeros(2, dtype=np.int64)
    assert not batch.done.any()
    batch.step(actions)
    assert not batch.done.any()
    last = batch.step(actions)
    assert batch.done.tolist() == [True, True]
    with pytest.raises(ConfigurationError, match="done after 2 steps"):
        batch.step(actions)
    np.testing.assert_array_equal(batch.observe(), last)
    assert batch.num_steps == 2
    assert WorldBatch(WORLD, [1]).max_steps == 30


@pytest.mark.parametrize("max_steps", [0, -1, 2**32, 1.5, True, "3"])
def test_refuses_lengths_that_there_are_not(max_steps):
    with pytest.raises(
        ConfigurationError, match="max_steps: expected an integer from 1 to 4294967295"
    ):
        WorldBatch(WORLD, [1], max_steps=max_steps)


def continued(batch, num_steps):
    states = []
    for _ in range(num_steps):
        states.append(batch.step(batch.draw_actions()))
    return np.stack(states)


@pytest.mark.parametrize(
    "duplicate", [WorldBatch.fork, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_copies_continue_alike_and_apart(duplicate):
    """A fork plans ahead: it must see what would happen, and disturb nothing."""
    batch = WorldBatch(WORLD, range(20), key=KEY)
    continued(batch, 5)
    first, second = duplicate(batch), duplicate(batch)
    before = batch.observe()
    second.step(np.full(20, 1))
    ahead = continued(first, 10)
    np.testing.assert_array_equal(batch.observe(), before)
    assert batch.num_steps == 5
    np.testing.assert_array_equal(continued(batch, 10), ahead)


def test_resumes_from_saved_states():
    """A server that restarts goes on with every session where it was."""
    batch = WorldBatch(WORLD, range(20), key=KEY)
    continued(batch, 5)
    saved = batch.observe()
    expected = continued(batch, 10)
    resumed = WorldBatch(WORLD, range(20), key=KEY)
    resumed.set_state(saved, num_steps=5)
    saved[:] = 0
    np.testing.assert_array_equal(continued(resumed, 10), expected)
    resumed.set_state(np.zeros((20, 3), dtype=np.int64))
    assert resumed.num_steps == 15


def test_what_is_handed_out_is_the_callers():
    """A contestant that writes into its observation must not move the world."""
    batch = WorldBatch(WORLD, range(5))
    before = batch.observe()
    for array in (batch.observe(), batch.done, *batch.peek(np.zeros(5, dtype=np.int64))):
        array[...] = 1
    np.testing.assert_array_equal(batch.observe(), before)
    batch.step(np.zeros(5, dtype=np.int64))[...] = 9
    assert batch.observe().max() < 5


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda b: b.step(np.zeros(2, dtype=int)), "action: expected 3 actions, got 2"),
        (lambda b: b.peek(np.array([0, 1, 3])), "action: expected indices of 0 to 2, got 3"),
        (lambda b: b.step(np.zeros(3)), "action: expected an array of integers, got float64"),
        (lambda b: b.set_state(np.zeros((2, 3), int)), "state: expected 3 states, got 2"),
        (lambda b: b.set_state(b.observe(), num_steps=31), "num_steps: .* from 0 to 30, got 31"),
        (lambda b: b.set_state(b.observe(), num_steps=-1), "num_steps: .* from 0 to 30, got -1"),
        (lambda b: b.set_state(b.observe(), num_steps=1.5), "num_steps: .* integer .* got 1.5"),
    ],
)
def test_refuses_wrong_arrays_and_changes_nothing(call, reason):
    """A refused call must leave the episode as it was."""
    batch, untouched = WorldBatch(WORLD, range(3)), WorldBatch(WORLD, range(3))
    with pytest.raises(ConfigurationError, match=reason):
        call(batch)
    assert batch.num_steps == 0
    np.testing.assert_array_equal(continued(batch, 5), continued(untouched, 5))
