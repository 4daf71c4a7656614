from __future__ import annotations

import copy
import re
from itertools import product

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from tests.oracles import world_loops
from tests.worlds.documents import CART, cart, with_rules
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import load_world
from wbgpu.worlds.tables import MAX_TABLE_SIZE

DOCUMENTS = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((REPOSITORY / "configs/world").glob("*.yaml"))
} | {"cart": CART}


def assert_means_the_same(document):
    """Every distribution of the compiled world equals that of the interpreted rules."""
    world = load_world(document)
    variables, actions = document["variables"], document["actions"]
    states = list(world_loops.all_states(document))
    indices = np.array([[variables[n].index(v) for n, v in s.items()] for s in states])
    for index, action in enumerate(actions):
        rows = world.transition(indices, np.full(len(states), index))
        for name, row in zip(variables, rows, strict=True):
            expected = [
                list(world_loops.distribution(document, name, state, action).values())
                for state in states
            ]
            np.testing.assert_allclose(row, expected, rtol=0, atol=1e-15)
    policy = world.action_probabilities(indices)
    expected = [list(world_loops.policy(document, state).values()) for state in states]
    np.testing.assert_allclose(policy, expected, rtol=0, atol=1e-15)
    for table, (name, outcomes) in zip(world.initial, variables.items(), strict=True):
        start = world_loops.spread(document["initial"][name], outcomes, None, document, {})
        np.testing.assert_array_equal(table.probabilities, [list(start.values())])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_tables_mean_what_the_rules_say(name):
    """In every state, for every action: first match, relations, ends, sums of equal outcomes."""
    assert_means_the_same(DOCUMENTS[name])


@st.composite
def documents(draw):
    """Two to three small variables with random rules; many cover each other."""
    pools = [["a", "b"], ["a", "b", "c"], ["b", "c", "d"], ["c"]]
    variables = {f"v{i}": draw(st.sampled_from(pools)) for i in range(draw(st.integers(2, 3)))}
    document = {
        "name": "drawn",
        "max_steps": 5,
        "action_matters": False,
        "variables": variables,
        "actions": ["x", "y"],
        "initial": dict.fromkeys(variables, "uniform"),
        "rules": {},
    }

    def terms(name, relations):
        others = [v for v in variables if v != name]
        own = [] if relations == "guard" else ["keep", "next", "previous"]
        return st.sampled_from(
            [*variables[name], *own]
            + [f"{r}({v})" for r, v in product(["same_as", "next", "previous"], others)]
        )

    def guard():
        when = {}
        for name in draw(st.sets(st.sampled_from([*variables]), max_size=2)):
            wanted = draw(st.lists(terms(name, "guard"), min_size=1, max_size=2))
            wanted = wanted if len(wanted) > 1 else wanted[0]
            when[name] = {"not": wanted} if draw(st.booleans()) else wanted
        if draw(st.booleans()):
            when["action"] = draw(st.sampled_from(document["actions"]))
        return when

    for name in variables:
        rules = []
        for _ in range(draw(st.integers(0, 3))):
            targets = draw(st.lists(terms(name, "then"), min_size=1, max_size=2, unique=True))
            rules.append({"when": guard(), "then": dict.fromkeys(targets, 1 / len(targets))})
        document["rules"][name] = [*rules, {"then": {"keep": 0.5, "next": 0.5}}]
    return document


@settings(max_examples=300)
@given(documents())
def test_random_rules_mean_the_same_or_are_refused_for_a_reason(document):
    """The four worlds use a part of the language; these use all of it."""
    try:
        load_world(document)
    except ConfigurationError as error:
        if re.search("never applies|is no outcome of|can never hold", str(error)) is None:
            raise
        return
    assert_means_the_same(document)


def test_refuses_a_state_that_no_rule_covers():
    """A world must not stop, or invent something, in a rare state."""
    document = with_rules(
        "place",
        {"when": {"action": {"not": "ride"}}, "then": "keep"},
        {"when": {"mood": "calm"}, "then": "next"},
    )
    with pytest.raises(
        ConfigurationError,
        match=r"cart': rules.place: no rule covers .*mood = wild, action = ride; add one",
    ):
        load_world(document)


@pytest.mark.parametrize(
    "rules",
    [
        [{"then": "keep"}, {"when": {"action": "ride"}, "then": "next"}],
        [
            {"when": {"mood": "calm"}, "then": "keep"},
            {"when": {"mood": "wild"}, "then": "keep"},
            {"then": "next"},
        ],
        [{"when": {"cargo": "next(place)", "place": "east"}, "then": "keep"}, {"then": "keep"}],
    ],
)
def test_refuses_a_rule_that_can_never_match(rules):
    """It is in the wrong place, or says another thing than its author thinks."""
    with pytest.raises(ConfigurationError, match=r"rules\.place\[\d\]: this rule never applies"):
        load_world(with_rules("place", *rules))


def test_refuses_a_relation_that_is_no_outcome_where_its_rule_applies():
    """Cargo can be aboard, a place cannot."""
    with pytest.raises(
        ConfigurationError,
        match=r"rules\.place\[0\]: same_as\(cargo\) is no outcome of 'place' where cargo = none",
    ):
        load_world(with_rules("place", {"then": "same_as(cargo)"}))
    load_world(
        with_rules(
            "place",
            {"when": {"cargo": {"not": ["none", "aboard"]}}, "then": "same_as(cargo)"},
            {"then": "keep"},
        )
    )


def test_refuses_tables_that_would_fill_memory():
    """Eight variables of ten values make 10**9 numbers: named, not allocated."""
    names = [f"v{i}" for i in range(8)]
    digits = [f"d{i}" for i in range(10)]
    document = cart(
        variables=dict.fromkeys(names, digits),
        initial=dict.fromkeys(names, "d0"),
        rules={name: [{"then": "keep"}] for name in names}
        | {"v3": [{"when": dict.fromkeys(names, "d1"), "then": "d2"}, {"then": "keep"}]},
        policy=None,
    )
    with pytest.raises(ConfigurationError, match=r"rules.v3: .*table of 1,000,000,000 prob"):
        load_world(document)
    assert MAX_TABLE_SIZE < 10**9


def test_tables_depend_only_on_what_changes_the_odds():
    """A guard that changes nothing must not make a world another one, or its table larger."""
    detailed = with_rules(
        "mood",
        {"when": {"place": "west", "action": "ride"}, "then": {"calm": 0.5, "wild": 0.5}},
        {"then": "uniform"},
    )
    world = load_world(detailed)
    assert world.transitions[2].axes == ()
    assert world.sha256 == load_world(CART).sha256


def drawn(distribution, uniforms):
    table = load_world(with_rules("place", {"then": distribution})).transitions[0]
    cells = np.zeros(len(uniforms), dtype=np.intp)
    return table.draw(cells, np.array(uniforms)).tolist()


def test_outcomes_lie_where_their_cumulative_sums_do():
    """An outcome owns [sum before, sum after)."""
    quarter = {"west": 0.25, "middle": 0.5, "east": 0.25}
    below = np.nextafter(0.25, 0)
    assert drawn(quarter, [0, below, 0.25, 0.7, 0.75, 1 - 2.0**-53]) == [0, 0, 1, 1, 2, 2]


def test_outcomes_of_probability_zero_are_never_drawn():
    """Regret would be infinite, at the ends of [0, 1) too and where sums round below 1."""
    ends = [0, 2.0**-53, 0.5, 1 - 2.0**-53]
    assert drawn({"west": 0, "middle": 1, "east": 0}, ends) == [1, 1, 1, 1]
    assert drawn({"west": 1, "middle": 0, "east": 0}, ends) == [0, 0, 0, 0]
    assert drawn({"west": 0.5, "middle": 0, "east": 0.5}, [0.5, np.nextafter(0.5, 0)]) == [2, 0]
    short = {"west": 0.1, "middle": 0.9 - 9e-13, "east": 0}
    assert drawn(short, [1 - 2.0**-53]) == [1]


@settings(max_examples=200)
@given(
    st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
    st.floats(0, 1, exclude_max=True),
)
def test_draws_as_the_loop_does(weights, u):
    """Searching the sums and walking along them must end at the same outcome."""
    names = CART["variables"]["place"]
    total = sum(weights)
    distribution = {n: f"{w}/{total}" for n, w in zip(names, weights, strict=True)}
    document = copy.deepcopy(CART)
    exact = world_loops.spread(distribution, names, "place", document, {})
    assert names[drawn(distribution, [u])[0]] == world_loops.pick(exact, u)
