from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest
import torch

from wbgpu.evaluation.generators import episode_seed, generators_kept


def draws() -> list[float]:
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]


def seed_all() -> None:
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)


def test_draws_inside_do_not_move_those_outside() -> None:
    seed_all()
    expected = draws()
    seed_all()
    with generators_kept():
        draws()
    assert draws() == expected


def test_also_when_an_exception_passes_through() -> None:
    seed_all()
    expected = draws()
    seed_all()
    with contextlib.suppress(KeyError), generators_kept(seed=5):
        draws()
        raise KeyError
    assert draws() == expected


def test_a_seed_fixes_all_of_them_and_another_seed_differs() -> None:
    with generators_kept(7):
        first = draws()
    with generators_kept(7):
        assert draws() == first
    with generators_kept(2**63 - 1):
        assert all(one != other for one, other in zip(draws(), first))


def test_episodes_have_seeds_of_their_own() -> None:
    seeds = {episode_seed(seed, name) for seed in (0, 1) for name in ("a", "b", "1/a")}
    assert len(seeds) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.cuda
def test_cuda_draws_are_kept_and_seeded() -> None:
    torch.cuda.manual_seed(3)
    expected = torch.rand(4, device="cuda").tolist()
    torch.cuda.manual_seed(3)
    with generators_kept(seed=1):
        first = torch.rand(4, device="cuda").tolist()
    assert torch.rand(4, device="cuda").tolist() == expected
    with generators_kept(seed=1):
        assert torch.rand(4, device="cuda").tolist() == first
