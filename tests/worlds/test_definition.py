from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.documents import CART, cart, with_rules
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import load_world

WORLD = load_world(CART)
SPRITE = {"color": "#ffffff", "points": [[4, 4]], "radius": 2}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": None}, "the key 'name' is missing"),
        ({"name": "a cart"}, "name: expected a name of letters, digits and underscores"),
        ({"nmae": "x"}, "unknown key 'nmae'; nearest: 'name'"),
        ({"max_steps": 0}, "max_steps: expected an integer of 1 to 4294967295, got 0"),
        ({"max_steps": True}, "max_steps: expected an integer"),
        ({"max_steps": 10.0}, "max_steps: expected an integer"),
        ({"action_matters": "yes"}, "action_matters: expected true or false, got 'yes'"),
        ({"actions": []}, "actions: expected a list with at least one element"),
        ({"actions": ["ride", "ride"]}, "actions: the name 'ride' stands twice"),
        ({"actions": ["ride", True]}, "actions[1]: expected a name, got True; quote it"),
        ({"variables": {}}, "variables: expected at least one variable"),
        ({"variables": {"place": ["a", "a"]}}, "variables.place: the name 'a' stands twice"),
        ({"variables": {"place": ["keep"]}}, "'keep' is a word of the rule language"),
        ({"variables": {"action": ["a"]}}, "'action' is a word of the rule language"),
        ({"variables": {"place": "west"}}, "variables.place: expected a list"),
        ({"description": 5}, "description: expected text, got 5"),
        ({"policy": {}}, "policy: expected a list"),
        ({"initial": {"place": "west", "cargo": "none"}}, "initial: the key 'mood' is missing"),
    ],
)
def test_refuses_a_wrong_document(changes, reason):
    """Whatever is wrong must be found at load, with its place, not in the middle of a run."""
    with pytest.raises(ConfigurationError) as raised:
        load_world(cart(**changes))
    assert reason in str(raised.value)


def test_rules_and_variables_belong_together():
    """A variable without rules, or rules of none, is a misspelt name."""
    document = cart()
    document["rules"]["moood"] = document["rules"].pop("mood")
    with pytest.raises(ConfigurationError, match="unknown key 'moood'; nearest: 'mood'"):
        load_world(document)


def test_transition_of_chosen_states():
    """The answer key: any state can be asked for, not only where an episode is."""
    place, cargo, mood = WORLD.transition(np.array([[2, 3, 1], [0, 4, 0]]), np.array([1, 0]))
    assert place.tolist() == [[0, 0.25, 0.75], [1, 0, 0]]
    assert cargo.tolist() == [[0, 0, 0, 1, 0], [0, 0.75, 0.25, 0, 0]]
    assert mood.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert all(row.dtype == np.float64 for row in (place, cargo, mood))


def test_what_is_handed_out_can_be_changed_without_harm():
    """A contestant that normalises in place must not change the answer key."""
    state, action = np.array([[0, 0, 0]]), np.array([0])
    for row in (*WORLD.transition(state, action), WORLD.action_probabilities(state)):
        row[...] = -1
    assert WORLD.transition(state, action)[2].tolist() == [[0.5, 0.5]]
    with pytest.raises(ValueError, match="read-only"):
        WORLD.transitions[0].probabilities[0, 0] = 2


@pytest.mark.parametrize(
    ("state", "action", "reason"),
    [
        ([[0, 5, 0]], [0], "state: cargo: expected indices of 0 to 4, got 5"),
        ([[-1, 0, 0]], [0], "state: place: expected indices of 0 to 2, got -1"),
        ([[0, 0]], [0], r"state: expected the shape \[B, 3\], got \[1, 2\]"),
        ([0, 0, 0], [0], r"state: expected the shape \[B, 3\], got \[3\]"),
        ([[0.0, 0, 0]], [0], "state: expected an array of integers, got float64"),
        ([[0, 0, 0]], [3], "action: expected indices of 0 to 2, got 3"),
        ([[0, 0, 0]], [-1], "action: expected indices of 0 to 2, got -1"),
        ([[0, 0, 0]], [[0]], r"action: expected the shape \[B\], got \[1, 1\]"),
        ([[0, 0, 0]], [True], "action: expected an array of integers, got bool"),
        ([[0, 0, 0]], [0, 0], "got 1 states and 2 actions"),
    ],
)
def test_refuses_wrong_states_and_actions(state, action, reason):
    """An index of -1 would silently be the last outcome."""
    with pytest.raises(ConfigurationError, match=reason):
        WORLD.transition(np.array(state), np.array(action))


def test_digest_is_of_what_is_drawn_and_of_nothing_else():
    """Results of two worlds must not be compared; a new text or picture makes no new world."""
    same = [
        cart(description="another text", max_steps=7),
        cart(render={"canvas": 8, "background": "#000000", "sprites": [SPRITE]}),
    ]
    assert {load_world(document).sha256 for document in same} == {WORLD.sha256}
    others = [
        cart(policy=None),
        cart(initial=CART["initial"] | {"place": "west"}),
        with_rules("mood", {"then": {"calm": 0.5 - 2.0**-50, "wild": 0.5 + 2.0**-50}}),
        cart(
            actions=["wait", "ride", "lift"],
            rules={**CART["rules"], "cargo": [{"then": "keep"}]},
            policy=None,
        ),
    ]
    digests = {load_world(document).sha256 for document in others}
    assert len(digests | {WORLD.sha256}) == 5


def test_digest_is_the_same_everywhere():
    """It stands in result files, which other machines compare."""
    document = {
        "name": "coin",
        "max_steps": 1,
        "action_matters": False,
        "variables": {"side": ["heads", "tails"]},
        "actions": ["toss"],
        "initial": {"side": "heads"},
        "rules": {"side": [{"then": {"heads": "1/3", "tails": "2/3"}}]},
    }
    expected = "656554e94498dbac5724c213cf191395689269b4d09e55594cb26a38372304ce"
    assert load_world(document).sha256 == expected


def test_looks_names_up():
    assert WORLD.variable_index("mood") == 2
    assert WORLD.action_index("load") == 2
    with pytest.raises(ConfigurationError, match="unknown action 'laod'; nearest: 'load'"):
        WORLD.action_index("laod")
    with pytest.raises(ConfigurationError, match="unknown variable 'modo'; nearest: 'mood'"):
        WORLD.variable_index("modo")
