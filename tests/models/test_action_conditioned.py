from __future__ import annotations

import pytest
import torch

from wbgpu.errors import ConfigurationError
from wbgpu.models import ActionConditioned, CopyLast, check_model


def _scene(num_frames: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """A white square that each action moves by as many pixels, and its actions ``[T - 1, 1]``."""
    actions = torch.randint(-2, 3, (num_frames - 1, 1)).float()
    frames = torch.zeros(num_frames, 3, 16, 24)
    column = 10
    for step in range(num_frames):
        frames[step, :, 6:10, column : column + 4] = 1
        if step < num_frames - 1:
            column = int((column + actions[step]).clamp(0, 20))
    return frames, actions


def test_an_untrained_network_copies_the_last_frame():
    """So that training starts from the baseline that it has to beat."""
    context = torch.randint(0, 256, (2, 3, 3, 13, 17), dtype=torch.uint8)
    model = ActionConditioned(num_actions=2).eval()
    with torch.no_grad():
        frames = model.predict(context, torch.randn(2, 6, 2), 4).frames
    assert torch.equal(frames, CopyLast().predict(context, None, 4).frames)


def _trained(steps: int = 40) -> ActionConditioned:
    torch.manual_seed(0)
    model = ActionConditioned(num_actions=1, num_inputs=2, channels=4)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        frames, actions = _scene()
        seen = torch.stack([frames[:-2], frames[1:-1]], 1)
        loss = (model(seen, actions[1:]) - frames[2:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def test_it_learns_and_the_action_matters():
    """Predictions that do not depend on the action would be of no use to a robot."""
    before = torch.get_rng_state()
    model = _trained()
    torch.set_rng_state(before)
    frames, _ = _scene()
    seen = frames[None, :2]
    left, right = (model(seen, torch.tensor([[shift]])) for shift in (-2.0, 2.0))
    assert (left - right).abs().max() > 1e-3
    check_model(model, num_actions=1)


def test_each_step_is_given_the_action_that_leads_to_it():
    """Off by one, a model would be scored for what the robot did a frame earlier."""

    class Recording(ActionConditioned):
        def forward(self, frames, action=None):
            seen.append(action.clone())
            return super().forward(frames, action)

    seen: list[torch.Tensor] = []
    actions = torch.arange(6.0).reshape(1, 6, 1)
    context = torch.zeros(1, 3, 3, 8, 8, dtype=torch.uint8)
    Recording(num_actions=1).predict(context, actions, 4)
    # Frame 3 is the first of the future; row 2 leads from frame 2 to frame 3.
    assert [action.item() for action in seen] == [2, 3, 4, 5]


def test_context_shorter_than_what_it_sees_is_padded():
    context = torch.randint(0, 256, (1, 1, 3, 8, 8), dtype=torch.uint8)
    with torch.no_grad():
        frames = ActionConditioned(num_inputs=4).predict(context, None, 2).frames
    assert torch.equal(frames[:, 0], context[:, 0])


def test_missing_or_foreign_actions_are_refused():
    model = ActionConditioned(num_actions=3)
    context = torch.zeros(1, 2, 3, 8, 8, dtype=torch.uint8)
    with pytest.raises(ConfigurationError, match="needs actions of 3 numbers, but the suite has"):
        model.predict(context, None, 1)
    with pytest.raises(ConfigurationError, match="needs actions of 3 numbers, got 2"):
        model.predict(context, torch.zeros(1, 2, 2), 1)


def test_sizes_that_make_no_network_are_refused():
    for arguments in ({"num_actions": -1}, {"num_inputs": 0}, {"channels": 0}):
        with pytest.raises(ConfigurationError, match="expected num_actions >= 0"):
            ActionConditioned(**arguments)
