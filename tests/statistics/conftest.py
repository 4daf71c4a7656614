from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

PATHS = [
    pytest.param(("reference", "cpu"), id="reference"),
    pytest.param(("cpu", "cpu"), id="cpu"),
    pytest.param(("reference", "cuda"), id="reference-cuda", marks=pytest.mark.cuda),
    pytest.param(("triton", "cuda"), id="triton", marks=pytest.mark.cuda),
]


@pytest.fixture(params=PATHS)
def path_and_device(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Every implementation with the device it runs on."""
    path, device = request.param
    return path, device


@pytest.fixture
def restore_num_threads() -> Iterator[None]:
    """For tests that set torch's number of threads."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
