"""The counting learner: its formula, its contexts and how fast it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wbgpu.contestants import KrichevskyTrofimov
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.prequential import run_regret
from wbgpu.records.world import Schema, Variable
from wbgpu.worlds import load_world

COIN = Schema("coin", (Variable("coin", ("tails", "heads")),), ("flip",))


def die(*probabilities):
    """A world without memory: one variable, drawn anew at each step."""
    odds = {f"side{k}": p for k, p in enumerate(probabilities)}
    return load_world(
        {
            "name": "die",
            "max_steps": 5000,
            "action_matters": False,
            "variables": {"die": list(odds)},
            "actions": ["roll"],
            "initial": {"die": "uniform"},
            "rules": {"die": [{"then": odds}]},
        }
    )


def test_codelength_in_closed_form():
    """10 flips with 7 heads cost 7.5138046 nats, whatever their order."""
    for order in range(10):
        learner = KrichevskyTrofimov(COIN, context=[])
        state, action, loss = np.array([[0]]), np.array([0]), 0.0
        for flip in np.random.default_rng(order).permutation([1] * 7 + [0] * 3):
            (rows,) = learner.predict(state, action)
            loss -= math.log(rows[0, flip])
            learner.learn(state, action, np.array([[flip]]))
            state = np.array([[flip]])
        assert loss == pytest.approx(7.5138046, abs=1e-7)


@pytest.mark.parametrize(
    ("context", "key"),
    [
        (None, lambda v, s, a: (s[v], a)),
        ([], lambda v, s, a: ()),
        (["action"], lambda v, s, a: (a,)),
        (["lamp", "belt"], lambda v, s, a: (s[0], s[1])),
        ({"lamp": ["belt", "lamp", "action"]}, lambda v, s, a: (s[v], a) if v == 0 else (*s, a)),
    ],
)
def test_is_what_a_dictionary_of_counts_says(context, key):
    """Two contexts that fall into one cell would learn from each other."""
    schema = load_world("spectator").schema
    learner = KrichevskyTrofimov(schema, context)
    learner.reset(3)
    generator, counts = np.random.default_rng(0), {}
    for _ in range(200):
        state = np.stack([generator.integers(0, 5, 3), generator.integers(0, 2, 3)], 1)
        action = generator.integers(0, 3, 3)
        outcome = np.stack([generator.integers(0, 5, 3), generator.integers(0, 2, 3)], 1)
        forecast = learner.predict(state, action)
        for b in range(3):
            for v, size in enumerate((5, 2)):
                cell = (b, v, key(v, tuple(state[b]), action[b]))
                seen = counts.setdefault(cell, [0] * size)
                expected = [(n + 0.5) / (sum(seen) + size / 2) for n in seen]
                np.testing.assert_allclose(forecast[v][b], expected, rtol=1e-15)
                seen[outcome[b, v]] += 1
        learner.learn(state, action, outcome)


def slope(world, learner, horizons):
    """Growth of the mean expected regret per unit of ln n, by least squares."""
    result = run_regret(world, learner, range(1600), max(horizons))
    sums = [result.horizons[h - 1].prefix_expected_regret.mean for h in horizons]
    return np.polyfit(np.log(horizons), sums, 1)[0]


def test_regret_grows_like_half_the_free_parameters_times_the_logarithm():
    """(K - 1) / 2 ln n: other pseudo-counts than 1/2 would not follow it."""
    world = die(0.1, 0.2, 0.3, 0.4)
    learner = KrichevskyTrofimov(world.schema, context=[])
    assert slope(world, learner, [32, 64, 128, 256, 512]) == pytest.approx(1.5, rel=0.04)


def test_a_context_is_learned_on_its_own():
    """Two contexts of a chain are two coins: twice (2 - 1) / 2 ln n."""
    world = load_world("markov_chain")
    learner = KrichevskyTrofimov(world.schema)
    assert slope(world, learner, [125, 250, 500, 1000]) == pytest.approx(1.0, rel=0.04)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (["coim"], "context of 'coin': unknown variable 'coim'; nearest: 'coin'"),
        ({"coim": ["action"]}, "context: unknown variable 'coim'; nearest: 'coin'"),
        (["coin", "coin"], "context of 'coin': 'coin' stands twice"),
        ("coin", "context of 'coin': expected a list of names, got 'coin'"),
        ({"coin": 3}, "context of 'coin': expected a list of names, got 3"),
    ],
)
def test_a_wrong_context_is_refused_by_name(context, message):
    with pytest.raises(ConfigurationError, match=message):
        KrichevskyTrofimov(COIN, context)


def test_tables_that_do_not_fit_are_refused_before_they_are_made():
    """Eight variables of ten outcomes in one context would be 8e9 counts for each episode."""
    variables = tuple(Variable(f"v{i}", tuple(f"o{k}" for k in range(10))) for i in range(8))
    names = [variable.name for variable in variables]
    with pytest.raises(ConfigurationError, match=r"8,000,000,000 counts per episode.*name fewer"):
        KrichevskyTrofimov(Schema("huge", variables, ("a",)), names)
    learner = KrichevskyTrofimov(Schema("large", variables, ("a",)), names[:4])
    with pytest.raises(ConfigurationError, match=r"batch_size: 256 episodes .* at most 167 do"):
        learner.reset(256)
