"""Logits, targets and references, saved as a model's author would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from wbgpu.episodes.logits import LogitFiles, find_logits


def make_tensors(
    seed: int = 0,
    shape: tuple[int, int, int] = (4, 6, 33),
    dtype: torch.dtype = torch.bfloat16,
) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "logits": (3 * torch.randn(shape, generator=generator)).to(dtype),
        "targets": torch.randint(0, shape[2], shape[:2], generator=generator),
    }


def save_safetensors(root: Path, name: str, tensors: dict[str, Tensor]) -> LogitFiles:
    path = root / f"{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path)
    return find_logits(root, [f"{name}.mp4"])[f"{name}.mp4"]


def save_arrays(root: Path, name: str, tensors: dict[str, Tensor]) -> LogitFiles:
    root.mkdir(parents=True, exist_ok=True)
    for key, tensor in tensors.items():
        np.save(root / f"{name}.{key}.npy", tensor.numpy())
    return find_logits(root, [f"{name}.mp4"])[f"{name}.mp4"]
