from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

# No test is timed: on a busy machine a deadline fails what is right.
settings.register_profile("wbgpu", deadline=None)
settings.load_profile("wbgpu")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A job in the background ignores Ctrl-C, and so would every program that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent


def _skip(what: str, switch: str) -> NoReturn:
    """Skip for want of ``what``; where the environment says ``switch=1``, it must be there."""
    if os.environ.get(switch) == "1":
        pytest.fail(f"{switch}=1, but {what}", pytrace=False)
    pytest.skip(what)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``cuda`` run where there is a CUDA device."""
    if item.get_closest_marker("cuda") is None:
        return
    import torch

    if not torch.cuda.is_available():
        _skip("there is no CUDA device", "WBGPU_REQUIRE_CUDA")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real robot videos and worldbench's outputs, in a folder beside the repository."""
    folder = REPOSITORY.parent / "shared"
    if not (folder / "golden").is_dir():
        _skip("the shared data folder is not beside the repository", "WBGPU_REQUIRE_SHARED")
    return folder
