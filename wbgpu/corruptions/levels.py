"""Arithmetic on pixels that ends in whole levels again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def to_levels(values: Tensor) -> Tensor:
    """Float intensities as uint8: rounded, and cut off at 0 and 255."""
    return values.round().clamp(0, 255).to(torch.uint8)


def per_frame(values: npt.NDArray[np.floating[Any]], like: Tensor) -> Tensor:
    """``[n]`` as float32 ``[n, 1, 1, 1]`` on the device of ``like``."""
    return torch.from_numpy(values).to(like.device, torch.float32).reshape(-1, 1, 1, 1)
