"""The script of the acceptance folder, unchanged, and closed forms computed from the store."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys

import pytest
from sqlalchemy import create_engine, text

from wbgpu.worlds import World, load_world

STEPS = 400


def stored_steps(location, run_id):
    engine = create_engine(f"sqlite:///{location}")
    query = text(
        "SELECT p.state, p.action, p.outcome FROM bench_predictions p JOIN bench_sessions s "
        "ON s.session_id = p.session_id WHERE s.run_id = :run_id ORDER BY p.step"
    )
    with engine.connect() as connection:
        rows = connection.execute(query, {"run_id": run_id}).all()
    engine.dispose()
    return [(json.loads(state), action, json.loads(outcome)) for state, action, outcome in rows]


def forecast(predictor, present, num_outcomes):
    if predictor == "uniform":
        return [1 / num_outcomes] * num_outcomes
    return [0.9 if i == present else 0.1 / (num_outcomes - 1) for i in range(num_outcomes)]


def closed_form(steps, predictor):
    """Realised, expected and reference nats by plain loops over names, from the world's peek."""
    world = World(load_world("block_to_bowl"), seed=0)
    variables, actions = world.schema.variables, world.schema.actions
    realised, expected, reference = [], [], []
    for state, action, outcome in steps:
        world.set_state({v.name: v.outcomes[s] for v, s in zip(variables, state)})
        truth = world.peek(actions[action])
        for v, s, o in zip(variables, state, outcome):
            q, p = forecast(predictor, s, v.num_outcomes), truth[v.name].probabilities
            reference.append(-math.log(p[o]))
            realised.append(math.log(p[o]) - math.log(q[o]))
            expected += [a * math.log(a / b) for a, b in zip(p, q) if a > 0]
    return math.fsum(realised), math.fsum(expected), math.fsum(reference)


@pytest.mark.parametrize("predictor", ["uniform", "stay"])
def test_the_acceptance_client_plays_to_the_closed_form(predictor, server, shared, tmp_path):
    script = shared / "acceptance/bench_client.py"
    done = subprocess.run(
        [
            sys.executable,
            script,
            server.url,
            "block_to_bowl",
            "7",
            str(STEPS),
            "--predictor",
            predictor,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout)
    steps = stored_steps(tmp_path / "bench.sqlite", result["run_id"])
    assert len(steps) == STEPS
    for (_, _, outcome), (state, _, _) in itertools.pairwise(steps):
        assert outcome == state
    realised, expected, reference = closed_form(steps, predictor)
    assert result["cumulative_regret_nats"] == pytest.approx(realised, rel=1e-12)
    assert result["expected_regret_nats"] == pytest.approx(expected, rel=1e-12)
    assert result["reference_loss_nats"] == pytest.approx(reference, rel=1e-12)
    assert result["num_infinite"] == 0
