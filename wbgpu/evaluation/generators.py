"""Random numbers of a model: seeded for each episode, and as they were for everybody else."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

_SEED_BITS = 63


@contextmanager
def generators_kept(seed: int | None = None) -> Iterator[None]:
    """Leave Python's, NumPy's and torch's global generators (CPU, all CUDA devices) as they are.

    Also when an exception passes through. CUDA is not woken up: where nobody has used it, there is
    nothing to keep.

    Args:
        seed: what the generators are seeded with inside, 0 to 2^63 - 1; ``None`` leaves them alone.
    """
    # Legacy state, whose owners a training job may have anywhere.
    python, legacy = random.getstate(), np.random.get_state()
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if _is_cuda_in_use() else []
    try:
        if seed is not None:
            _seed(seed)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)


def episode_seed(seed: int, episode_id: str) -> int:
    """A seed that depends on the run's and on the episode, and on nothing else."""
    digest = hashlib.sha256(f"{seed}/{episode_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _SEED_BITS)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)
    if _is_cuda_in_use():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(seed)


def _is_cuda_in_use() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
