"""Contestants over HTTP are scored as they are in process, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from wbgpu.bench.client import BenchClient
from wbgpu.bench.play import play
from wbgpu.contestants import ActionBlind, KrichevskyTrofimov, Oracle, Uniform
from wbgpu.evaluation.prequential import answer_key
from wbgpu.regret import RegretAccumulator
from wbgpu.worlds import load_world

NUM_STEPS = 150


def in_process(world, contestant, steps):
    """The in-process harness's losses of a contestant that is shown the same outcomes."""
    accumulator = RegretAccumulator(world.schema.variables, 1)
    contestant.reset(1)
    for step in steps:
        state, outcome = (np.array([s], dtype=np.int64) for s in (step.state, step.outcome))
        action = np.array([step.action], dtype=np.int64)
        forecast = contestant.predict(state, action)
        accumulator.update(forecast, outcome, world.transition(state, action))
        contestant.learn(state, action, outcome)
    return accumulator.episodes([0])[0]


@pytest.mark.parametrize("world_name", ["block_to_bowl", "slippery_grid", "markov_chain"])
@pytest.mark.parametrize("kind", ["oracle", "uniform", "action_blind", "kt"])
def test_regret_over_http_is_that_of_the_harness(server, kind, world_name):
    world = load_world(world_name)
    make = {
        "oracle": lambda: Oracle(answer_key(world)),
        "uniform": lambda: Uniform(world.schema),
        "action_blind": lambda: ActionBlind(answer_key(world)),
        "kt": lambda: KrichevskyTrofimov(world.schema),
    }[kind]
    played = []
    with BenchClient(server.url) as client:
        schema = client.schema(world_name)
        assert schema == world.schema
        session = client.create_session(world_name, 3, max_steps=NUM_STEPS)
        result = play(client, session, schema, make(), progress=played.append)
    assert played == list(range(NUM_STEPS))
    steps = server.bench.steps(server.bench.store.session(session["session_id"]))
    episode = in_process(world, make(), steps)
    for name, value in vars(episode.totals).items():
        assert result[name] == value, name
    for variable, totals in episode.per_variable.items():
        for name, value in vars(totals).items():
            assert result["per_variable"][variable][name] == value
    mean = result["per_step"]["expected_regret_nats"]["mean"]
    assert mean == pytest.approx(episode.totals.expected_regret_nats / NUM_STEPS)
    if kind == "oracle":
        assert result["cumulative_regret_nats"] == result["expected_regret_nats"] == 0.0
