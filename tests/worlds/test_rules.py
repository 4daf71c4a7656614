"""What the rule language refuses; what it means is tested in test_tables."""

from __future__ import annotations

import re

import pytest

from tests.worlds.documents import cart, with_rules
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import load_world


def refused(document):
    with pytest.raises(ConfigurationError) as raised:
        load_world(document)
    return str(raised.value)


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ({"west": 0.5, "east": 0.4}, "the probabilities sum to 0.9, expected 1 within 1e-12"),
        ({"west": 0.5, "east": 0.5 + 2e-12}, "expected 1 within 1e-12"),
        ({"west": "1/3", "east": "1/3"}, "the probabilities sum to 0.666"),
        ({"west": 1.5, "east": -0.5}, "expected a probability of 0 to 1, got 1.5"),
        ({"west": float("nan"), "east": 1}, "expected a finite number, got nan"),
        ({"west": True}, "expected a number, got True"),
        ({"west": "half"}, "a number or a fraction such as 1/3, got 'half'"),
        ({"west": "1/0"}, "a number or a fraction such as 1/3, got '1/0'"),
        ({"west": "3/2"}, "expected a probability of 0 to 1, got '3/2'"),
        ({}, "the probabilities sum to 0.0"),
        ({"wast": 1}, "unknown outcome of 'place' 'wast'; nearest: 'west'"),
        ("eats", "unknown outcome of 'place' 'eats'; nearest: 'east'"),
        ({"same_as(crago)": 1}, "unknown variable 'crago'; nearest: 'cargo'"),
        ({1: 1}, "expected text as key, got 1"),
        (["west"], "expected key: value pairs, got ['west']"),
        (None, "expected key: value pairs, got None"),
    ],
)
def test_refuses_a_wrong_distribution(then, reason):
    """A distribution that is none makes every regret wrong; the message must lead to the rule."""
    message = refused(
        with_rules("place", {"when": {"mood": "calm"}, "then": "keep"}, {"then": then})
    )
    assert reason in message
    assert message.startswith("world 'cart': rules.place[1].then")


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ({"plaec": "west"}, "unknown variable 'plaec'; nearest: 'place'"),
        ({"place": "wets"}, "unknown outcome 'wets'; nearest: 'west'"),
        ({"action": "rid"}, "unknown action 'rid'; nearest: 'ride'"),
        ({"action": "same_as(place)"}, "an action cannot be compared with a variable"),
        ({"place": "next(place)"}, "compares a variable with itself"),
        ({"place": "same_as(mood)"}, "can never hold: the two variables share no outcome's name"),
        ({"place": "same_as(cagro)"}, "unknown variable 'cagro'; nearest: 'cargo'"),
        ({"place": []}, "a list with at least one element"),
        ({"place": {"no": "west"}}, "unknown key 'no'; nearest: 'not'"),
        ({"place": None}, "unknown outcome 'None'"),
        ("place", "expected key: value pairs, got 'place'"),
    ],
)
def test_refuses_a_wrong_guard(when, reason):
    """A misspelt guard that never or always holds would be another world, without a word."""
    message = refused(with_rules("place", {"when": when, "then": "keep"}, {"then": "keep"}))
    assert reason in message
    assert message.startswith("world 'cart': rules.place[0].when")


@pytest.mark.parametrize("then", ["keep", "next", "same_as(place)", {"keep": 0.5, "west": 0.5}])
def test_the_first_state_has_no_present_values(then):
    """There is nothing to keep before an episode begins."""
    message = refused(cart(initial={"place": then, "cargo": "none", "mood": "calm"}))
    assert re.search(r"initial\.place.*has no meaning", message)


def test_the_policy_sees_no_action_and_keeps_none():
    """The action is what the policy decides."""
    assert "unknown variable 'action'" in refused(
        cart(policy=[{"when": {"action": "ride"}, "then": "load"}, {"then": "uniform"}])
    )
    assert "has no meaning here" in refused(cart(policy=[{"then": "keep"}]))


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"when": {}}, "the key 'then' is missing"),
        ({"then": "keep", "if": {}}, "unknown key 'if'"),
        ("keep", "expected key: value pairs, got 'keep'"),
    ],
)
def test_refuses_what_is_no_rule(rule, reason):
    message = refused(with_rules("mood", rule))
    assert "world 'cart': rules.mood[0]" in message
    assert reason in message


def test_fractions_are_exact_to_rounding():
    """Thirds written as decimals would miss 1 by more than the tolerance."""
    world = load_world(
        with_rules("place", {"then": {"west": "1/3", "middle": " 1 / 3 ", "east": "1/3"}})
    )
    assert world.transitions[0].probabilities.tolist() == [[1 / 3] * 3]
