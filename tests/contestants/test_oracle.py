from __future__ import annotations

import pytest

from wbgpu.contestants import Oracle
from wbgpu.evaluation.prequential import answer_key, run_regret
from wbgpu.worlds import load_world, world_names


@pytest.mark.parametrize("name", world_names())
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_loses_nothing_in_any_world_with_any_seed_in_any_batch(name, batch_size):
    """A step's truth that is not the one outcomes are drawn from would show here."""
    world = load_world(name)
    seeds = [*range(12), 2**63, 2**64 - 1]
    result = run_regret(world, Oracle(answer_key(world)), seeds, 60, batch_size=batch_size)
    for episode in result.episodes:
        assert set(episode.step_regret_nats) == {0.0}
        assert set(episode.step_expected_regret_nats) == {0.0}
        assert episode.totals.log_loss_nats == episode.totals.reference_loss_nats
