"""A torchmetrics module whose sums no cast of a model can round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric


class ExactStateMetric(Metric):
    """Float64 sums and int64 counts stay that, whatever precision a model around them runs in."""

    def __init__(self, **torchmetrics_arguments: Any) -> None:
        super().__init__(**torchmetrics_arguments)
        if self._device.type == "meta":
            # Made with a model that gets its memory later: there is nothing to load into sums.
            self._device = torch.device("cpu")

    def _apply(
        self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = ""
    ) -> torch.nn.Module:
        """Follow to other devices only."""

        # Every way to convert a module, or one that holds it, comes through here. Only the device
        # is taken over, because to(torch.float16) would round sums, and to_empty would lose them.
        def move(tensor: Tensor) -> Tensor:
            return tensor.to(fn(torch.zeros(1, device=tensor.device)).device)

        # A metric with a network in it: the network is converted as asked.
        torch.nn.Module._apply(self, fn)  # type: ignore[no-untyped-call]
        return super()._apply(move, exclude_state)
