from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.documents import CART
from wbgpu.errors import ConfigurationError
from wbgpu.worlds import WorldBatch, load_world, roll_out

WORLD = load_world(CART)


def test_holds_the_first_state_and_every_step():
    """An array that is shifted by one step would train a model on the wrong transitions."""
    rollout = roll_out(WORLD, range(4), 7)
    assert rollout.states.shape == (4, 8, 3)
    assert rollout.actions.shape == (4, 7)
    batch = WorldBatch(WORLD, range(4))
    for step in range(7):
        np.testing.assert_array_equal(batch.observe(), rollout.states[:, step])
        np.testing.assert_array_equal(batch.draw_actions(), rollout.actions[:, step])
        batch.step(rollout.actions[:, step])
    np.testing.assert_array_equal(batch.observe(), rollout.states[:, 7])


def test_may_be_longer_than_the_worlds_own_episodes():
    """``max_steps`` of a world is where its episodes end by default, not a limit."""
    assert roll_out(WORLD, [0], WORLD.max_steps + 5).actions.shape == (1, 35)


def test_refuses_no_steps():
    with pytest.raises(ConfigurationError, match="num_steps: expected 1 or more, got 0"):
        roll_out(WORLD, [0], 0)
