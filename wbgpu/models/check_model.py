"""The contract of world models as a test that anybody can run on their own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wbgpu.models.world_model import Prediction, Tokenizer, WorldModel

_NUM_EPISODES = 3


def check_model(
    model: WorldModel,
    *,
    num_actions: int | None = None,
    num_context: int = 2,
    height: int = 32,
    width: int = 40,
    num_frames: int = 4,
    device: str | torch.device = "cpu",
    tolerance: float = 1.0,
    seed: int = 0,
) -> None:
    """Check that a model keeps the contract of `wbgpu.models.WorldModel`.

    Shapes and types are right; what is handed in is not written to; the same arguments and seed
    give the same prediction; an episode's prediction does not depend on the others of its batch; a
    module keeps its mode and collects no gradients; logits have targets.

    Args:
        model: on ``device``, in the mode in which it is to predict.
        num_actions: numbers of an action; ``None`` for a suite without actions.
        num_context: context frames.
        height: pixels.
        width: pixels.
        num_frames: frames to predict.
        device: where frames and actions are put.
        tolerance: by how many of 255 levels a frame may differ, and by how much a logit, when its
            episode is predicted alone. Batches of other sizes take other ways through a network.
        seed: of the random frames and actions, and of the model's own randomness.

    Raises:
        AssertionError: a part of the contract is broken; the message says which.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = (_NUM_EPISODES, num_context, 3, height, width)
    context = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator).to(device)
    actions = None
    if num_actions is not None:
        rows = (_NUM_EPISODES, num_context + num_frames - 1, num_actions)
        actions = torch.randn(rows, generator=generator).to(device)

    def predicted(chosen: slice, steps: int = num_frames) -> Prediction:
        used = None if actions is None else actions[chosen, : num_context + steps - 1]
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            return model.predict(context[chosen], used, steps)

    _expect(isinstance(model, WorldModel), "a method predict")
    before = context.clone(), None if actions is None else actions.clone()
    modes = _modes(model)
    whole = predicted(slice(None))
    _expect(isinstance(whole, Prediction), f"a Prediction, got {type(whole).__name__}")
    for name, tensor in (("frames", whole.frames), ("logits", whole.logits)):
        if tensor is not None:
            wanted = (_NUM_EPISODES, num_frames)
            got = tuple(tensor.shape[:2])
            _expect(got == wanted, f"{name} of {wanted} episodes and steps, got {got}")
            _expect(tensor.device == context.device, f"{name} on {context.device}")
            _expect(not tensor.requires_grad, f"{name} without gradients")
    _expect(torch.equal(context, before[0]), "context frames that are not written to")
    if actions is not None and before[1] is not None:
        _expect(torch.equal(actions, before[1]), "actions that are not written to")
    _expect(_modes(model) == modes, "modules that stay in the mode they were in")
    _same(whole, predicted(slice(None)), 0.0, "the same prediction with the same seed")
    if tolerance != float("inf"):
        for row in range(_NUM_EPISODES):
            alone = predicted(slice(row, row + 1))
            _same(
                _row(whole, row), alone, tolerance, f"the same prediction for episode {row} alone"
            )
    one = predicted(slice(None), 1)
    steps = next(t.shape[1] for t in (one.frames, one.logits) if t is not None)
    _expect(steps == 1, f"one step where one is asked for, got {steps}")
    if whole.logits is not None:
        _check_tokens(model, context, whole.logits, num_frames)


def _check_tokens(model: WorldModel, context: Tensor, logits: Tensor, num_frames: int) -> None:
    _expect(isinstance(model, Tokenizer), "a method tokenize, because there are logits")
    assert isinstance(model, Tokenizer)
    future = context[:, -1:].expand(-1, num_frames, -1, -1, -1).contiguous()
    with torch.no_grad():
        targets = model.tokenize(context, future).targets
    _expect(
        targets.shape == logits.shape[:-1],
        f"targets of the shape {tuple(logits.shape[:-1])}, got {tuple(targets.shape)}",
    )
    _expect(
        not targets.is_floating_point() and targets.dtype != torch.bool,
        f"targets that are integers, got {targets.dtype}",
    )
    low, high = int(targets.min()), int(targets.max())
    _expect(
        low >= 0 and high < logits.shape[-1],
        f"targets from 0 to {logits.shape[-1] - 1}, got {low} to {high}",
    )


def _row(prediction: Prediction, row: int) -> Prediction:
    parts = (prediction.frames, prediction.logits)
    return Prediction(*(None if part is None else part[row : row + 1] for part in parts))


def _same(first: Prediction, second: Prediction, tolerance: float, contract: str) -> None:
    for one, other in ((first.frames, second.frames), (first.logits, second.logits)):
        _expect((one is None) == (other is None), contract)
        if one is not None and other is not None:
            largest = float((one.double() - other.double()).abs().nan_to_num(0.0).max())
            is_close = one.shape == other.shape and largest <= tolerance
            _expect(is_close, f"{contract}; it differs by {largest:g}")


def _modes(model: WorldModel) -> list[bool]:
    return [m.training for m in model.modules()] if isinstance(model, nn.Module) else []


def _expect(condition: bool, contract: str) -> None:
    if not condition:
        raise AssertionError(f"expected {contract}")
