from __future__ import annotations

import math

import numpy as np
import pytest

from tests.worlds.documents import CART
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import World, WorldBatch, load_world

DEFINITION = load_world(CART)
STATE = {"place": "east", "cargo": "east", "mood": "calm"}


def test_is_a_batch_of_one_in_names():
    """The same seed must be the same episode through both interfaces."""
    world = World(DEFINITION, 5, key=bytes(16), max_steps=12)
    batch = WorldBatch(DEFINITION, [5], key=bytes(16), max_steps=12)
    for step in range(12):
        assert not world.done
        assert world.num_steps == step
        action = batch.draw_actions()
        name = CART["actions"][action[0]]
        assert world.draw_action() == name
        for variable, row in zip(DEFINITION.schema.variables, batch.peek(action), strict=True):
            distribution = world.peek(name)[variable.name]
            assert distribution.outcomes == variable.outcomes
            assert distribution.probabilities == tuple(row[0])
        outcomes = batch.step(action)[0]
        expected = {
            variable.name: variable.outcomes[index]
            for variable, index in zip(DEFINITION.schema.variables, outcomes, strict=True)
        }
        assert world.step(name) == expected
        assert world.observe() == expected
    assert world.done
    with pytest.raises(ConfigurationError, match="done after 12 steps"):
        world.step("wait")


def test_peek_at_a_chosen_state():
    """The odds of the file, by name."""
    world = World(DEFINITION, 0)
    world.set_state(STATE)
    odds = world.peek("load")
    assert world.observe() == STATE
    assert odds["cargo"]["aboard"] == 0.875
    assert odds["cargo"]["east"] == 0.125
    assert odds["place"].probabilities == (0, 0, 1)
    assert all(math.fsum(d.probabilities) == 1 for d in odds.values())
    with pytest.raises(KeyError, match="lost"):
        odds["cargo"]["lost"]


def test_a_fork_is_independent_and_continues_alike():
    world = World(DEFINITION, 3)
    world.step("ride")
    fork, other = world.fork(), world.fork()
    actions = ["ride", "load", "wait", "ride"]
    ahead = [fork.step(action) for action in actions]
    other.set_state(STATE, num_steps=9)
    assert (world.num_steps, other.num_steps) == (1, 9)
    assert [world.step(action) for action in actions] == ahead


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda w: w.step("rode"), "unknown action 'rode'; nearest: 'ride'"),
        (lambda w: w.peek("laod"), "unknown action 'laod'; nearest: 'load'"),
        (lambda w: w.set_state({"place": "west"}), "state: the variable 'cargo' is missing"),
        (lambda w: w.set_state(STATE | {"mod": "calm"}), "unknown variable 'mod'; nearest: 'mood'"),
        (
            lambda w: w.set_state(STATE | {"mood": "clam"}),
            "unknown outcome of 'mood' 'clam'; nearest: 'calm'",
        ),
    ],
)
def test_refuses_unknown_names(call, reason):
    world = World(DEFINITION, 3)
    before = world.observe()
    with pytest.raises(ConfigurationError, match=reason):
        call(world)
    assert world.observe() == before


def test_seeds_of_numpy_are_taken():
    assert World(DEFINITION, np.int64(3)).observe() == World(DEFINITION, 3).observe()
