"""Networks are run on one input at a time, on the CPU."""

from __future__ import annotations

import warnings

import pytest
import torch

from wbgpu.metrics.apart import each_apart, unfused


@pytest.mark.parametrize("num_threads", [1, 3])
def test_each_input_is_seen_once_and_in_its_place(num_threads):
    """Threads that finish in another order must not reorder frames."""
    before = torch.get_num_threads()
    seen = []

    def network(number):
        seen.append((number, torch.get_num_threads(), torch.is_grad_enabled()))
        return torch.tensor(number)

    try:
        torch.set_num_threads(num_threads)
        outputs = each_apart(network, list(range(20)))
    finally:
        torch.set_num_threads(before)
    assert [int(output) for output in outputs] == list(range(20))
    assert sorted(number for number, _, _ in seen) == list(range(20))
    assert {rest for _, *rest in map(tuple, seen) for rest in [tuple(rest)]} == {(1, False)}


def test_what_a_network_raises_is_raised():
    """A missing frame must not become a shorter list."""

    def network(number):
        raise ValueError(f"frame {number}")

    with pytest.raises(ValueError, match="frame 0"):
        each_apart(network, [0, 1])


def test_torchscript_gives_the_same_bits_at_every_call():
    """It optimises a function after the first calls, whose sums may then be in another order."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.", category=FutureWarning)
        module = torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.GELU()))
    frames = torch.randn(1, 3, 9, 9, generator=torch.Generator().manual_seed(0))
    outputs = each_apart(module, [frames] * 6)
    assert all(torch.equal(output, outputs[0]) for output in outputs)
    with unfused():
        assert not torch._C._get_graph_executor_optimize()
    assert torch._C._get_graph_executor_optimize()
