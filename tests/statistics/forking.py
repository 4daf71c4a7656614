"""Run something in a forked process, where the threads of this one do not exist."""

from __future__ import annotations

import os
import time
import traceback
import warnings
from collections.abc import Callable

import pytest
import torch

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def start_torch_threads() -> None:
    """Make torch start the threads that its large operators share."""
    torch.rand(1_000_000).exp()


def assert_works_in_a_fork(function: Callable[[], None], timeout_seconds: float = 60.0) -> None:
    """Call ``function`` in a child; it must come back, and without an exception."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + timeout_seconds
    status = None
    while status is None and time.monotonic() < deadline:
        finished, code = os.waitpid(child, os.WNOHANG)
        status = code if finished else None
        time.sleep(0.02)
    if status is None:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail(f"the forked process hung for {timeout_seconds:g} s")
    assert status == 0
