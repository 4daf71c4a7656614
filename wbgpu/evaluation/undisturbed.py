"""A model that is being trained is left as it was by its evaluation, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from wbgpu.evaluation.generators import generators_kept


@contextmanager
def undisturbed(model: object) -> Iterator[None]:
    """Keep the generators of random numbers, and a module's modes and gradients.

    Also when an exception passes through. Each submodule gets its own mode back, so a frozen
    BatchNorm in a model that trains stays frozen. Inside, parameters have no gradients, so that a
    model that adapts itself cannot add to those which the optimizer waits for.

    Args:
        model: a ``torch.nn.Module``; of anything else only the generators can be kept.
    """
    module = model if isinstance(model, nn.Module) else nn.Module()
    modes = [(part, part.training) for part in module.modules()]
    gradients: list[tuple[Tensor, Tensor]] = []
    with generators_kept():
        try:
            for parameter in module.parameters():
                if parameter.grad is not None:
                    gradients.append((parameter, parameter.grad))
                    parameter.grad = None
            yield
        finally:
            for part, mode in modes:
                # Not train(), which goes down to the parts of the part.
                part.training = mode
            for parameter in module.parameters():
                parameter.grad = None
            for kept, gradient in gradients:
                kept.grad = gradient


@contextmanager
def buffers_of_rank_0(model: nn.Module) -> Iterator[None]:
    """All ranks of a training evaluate with the buffers of rank 0, whose checkpoint is saved.

    Those of BatchNorm, for one, are each rank's own until the next step. Every rank calls this.
    """
    buffers = [buffer for buffer in model.buffers() if buffer is not None]
    with torch.inference_mode(False), torch.no_grad():
        own = [buffer.clone() for buffer in buffers]
        for buffer in buffers:
            torch.distributed.broadcast(buffer, src=0)
    try:
        yield
    finally:
        with torch.inference_mode(False), torch.no_grad():
            for buffer, values in zip(buffers, own, strict=True):
                buffer.copy_(values)
