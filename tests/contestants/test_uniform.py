from __future__ import annotations

import math

import numpy as np
import pytest

from tests.conftest import REPOSITORY
from tests.oracles.world_loops import distribution
from wbgpu.contestants import Uniform
from wbgpu.evaluation.prequential import run_regret
from wbgpu.records.yaml_file import read_yaml
from wbgpu.worlds import WorldBatch, load_world, world_names


@pytest.mark.parametrize("name", world_names())
def test_spends_exactly_its_entropy_gap(name):
    """Sum over steps and variables of ln K - H(truth), from the world's rules read one by one."""
    document = read_yaml(REPOSITORY / f"configs/world/{name}.yaml")
    world = load_world(name)
    seeds, num_steps = range(3), 40
    result = run_regret(world, Uniform(world.schema), seeds, num_steps)
    for episode in result.episodes:
        batch = WorldBatch(world, [episode.seed])
        for step in range(num_steps):
            state = {
                variable.name: variable.outcomes[index]
                for variable, index in zip(
                    world.schema.variables, batch.observe()[0].tolist(), strict=True
                )
            }
            action = batch.draw_actions()
            gap = 0.0
            for variable in world.schema.variables:
                odds = distribution(
                    document, variable.name, state, world.schema.actions[int(action[0])]
                )
                entropy = -math.fsum(p * math.log(p) for p in odds.values() if p > 0)
                gap += math.log(variable.num_outcomes) - entropy
            assert episode.step_expected_regret_nats[step] == pytest.approx(gap, abs=1e-12)
            batch.step(action)


def test_the_log_loss_is_the_logarithm_of_the_number_of_joint_outcomes():
    world = load_world("block_to_bowl")
    result = run_regret(world, Uniform(world.schema), range(5), 30)
    nats = 30 * sum(math.log(v.num_outcomes) for v in world.schema.variables)
    np.testing.assert_allclose([e.totals.log_loss_nats for e in result.episodes], nats, rtol=1e-12)
