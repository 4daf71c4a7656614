from __future__ import annotations

import math

import numpy as np
import pytest

from wbgpu.contestants import ActionBlind
from wbgpu.evaluation.prequential import answer_key, run_regret
from wbgpu.worlds import WorldBatch, load_world, world_names


@pytest.mark.parametrize("name", world_names())
def test_is_worse_than_the_truth_exactly_where_the_action_matters(name):
    """Blindness costs nothing in a world without actions that count, else strictly something."""
    world = load_world(name)
    result = run_regret(world, ActionBlind(answer_key(world)), range(32), 50)
    if not world.action_matters:
        assert result.cumulative_regret_nats == pytest.approx(0.0, abs=1e-12)
        assert result.expected_regret_nats == pytest.approx(0.0, abs=1e-12)
        return
    for episode in result.episodes:
        assert episode.totals.expected_regret_nats > 1.0
    assert result.cumulative_regret_nats > 1.0


def test_is_the_mean_of_the_truth_over_the_policys_actions():
    """The weights are the policy's, which prefers some actions in some states."""
    world = load_world("block_to_bowl")
    batch = WorldBatch(world, range(50))
    for _ in range(20):
        batch.step(batch.draw_actions())
    state = batch.observe()
    blind = ActionBlind(answer_key(world)).predict(state, batch.draw_actions())
    weights = world.action_probabilities(state)
    for b in range(50):
        for v, variable in enumerate(world.schema.variables):
            for k in range(variable.num_outcomes):
                mean = math.fsum(
                    weights[b, a] * world.transition(state[b : b + 1], np.array([a]))[v][0, k]
                    for a in range(len(world.schema.actions))
                )
                assert blind[v][b, k] == pytest.approx(mean, abs=1e-15)


def test_does_not_look_at_the_action():
    world = load_world("slippery_grid")
    batch = WorldBatch(world, range(5))
    contestant = ActionBlind(answer_key(world))
    first = contestant.predict(batch.observe(), np.zeros(5, dtype=np.int64))
    second = contestant.predict(batch.observe(), np.full(5, 2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
