from __future__ import annotations

import pytest
import torch

PATHS = [
    pytest.param(("reference", "cpu"), id="reference"),
    pytest.param(("cpu", "cpu"), id="cpu"),
    pytest.param(("auto", "cuda"), id="cuda", marks=pytest.mark.cuda),
]


@pytest.fixture(params=PATHS)
def path_and_device(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Every implementation with the device it runs on."""
    path, device = request.param
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return path, device
