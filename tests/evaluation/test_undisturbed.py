from __future__ import annotations

import pytest
import torch

from wbgpu.evaluation.undisturbed import undisturbed


def network() -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Sequential(torch.nn.Dropout())
    ).train()


@pytest.mark.parametrize("raises", [False, True])
def test_each_submodule_gets_its_own_mode_back(raises: bool) -> None:
    """A frozen BatchNorm that came back in training mode would drift from then on."""
    model = network()
    model[1].eval()
    before = [part.training for part in model.modules()]
    try:
        with undisturbed(model):
            model.eval()
            if raises:
                raise KeyError
    except KeyError:
        pass
    assert [part.training for part in model.modules()] == before == [True, True, False, True, True]


def test_gradients_wait_for_the_optimizer() -> None:
    """Validation in the middle of an accumulation must neither lose nor add gradients."""
    model = network()
    model[0](torch.ones(2, 3)).sum().backward()
    kept = [parameter.grad for parameter in model.parameters()]
    values = [None if gradient is None else gradient.clone() for gradient in kept]
    with undisturbed(model):
        assert all(parameter.grad is None for parameter in model.parameters())
        model(torch.ones(2, 3)).sum().backward()
    for parameter, gradient, value in zip(model.parameters(), kept, values):
        assert parameter.grad is gradient
        assert gradient is None or torch.equal(gradient, value)


def test_what_is_no_module_is_fine() -> None:
    before = torch.get_rng_state()
    with undisturbed(None):
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
