"""What a metric says about every horizon of every episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class HorizonValues:
    """Values of B episodes at horizons 1..T, in the metric's unit.

    Attributes:
        prefix: float64 ``[B, T]``; entry ``[b, t-1]`` is the value over steps 1..t. NaN means that
            the metric is not defined there; nothing else is ever NaN.
        step: float64 ``[B, T]``, the value of step t alone, with NaN likewise.
        details: named columns of supporting numbers ``[B, T]``, for the same prefixes; a floating
            column may hold NaN where it is not defined.
    """

    prefix: Tensor
    step: Tensor
    details: Mapping[str, Tensor] = field(default_factory=dict)

    def where_valid(self, valid: Tensor) -> HorizonValues:
        """NaN at horizons that an episode does not reach; ``valid`` is bool ``[B, T]``."""
        nothing = torch.full_like(self.prefix, torch.nan)
        return HorizonValues(
            torch.where(valid, self.prefix, nothing),
            torch.where(valid, self.step, nothing),
            self.details,
        )


def check_valid(valid: Tensor, shape: torch.Size) -> None:
    """Check a mask of the steps that exist: each episode is steps 1..t without holes.

    Raises:
        TypeError: not a tensor, or not bool.
        ValueError: not of ``shape`` ``[B, T]``, or a step that exists after one that does not.
    """
    if not isinstance(valid, Tensor) or valid.dtype != torch.bool:
        found = valid.dtype if isinstance(valid, Tensor) else type(valid).__name__
        raise TypeError(f"valid: expected a tensor, bool [B, T], got {found}")
    if valid.shape != shape:
        raise ValueError(
            f"valid {tuple(valid.shape)}: expected [B, T] of the frames, {tuple(shape)}"
        )
    if bool((valid[:, 1:] & ~valid[:, :-1]).any()):
        raise ValueError(
            "valid: an episode has a step after a missing one; expected True for steps 1..t, then "
            "False (pad at the end, and score the parts of an interrupted episode separately)"
        )


def prefix_mean(values: Tensor) -> Tensor:
    """Means of ``values [B, T]`` over steps 1..t, float64."""
    return values.double().cumsum(dim=1) / num_steps(values)


def num_steps(values: Tensor) -> Tensor:
    """1..T as float64 ``[T]`` on the device of ``values [B, T]``."""
    return torch.arange(1, values.shape[1] + 1, device=values.device, dtype=torch.float64)
