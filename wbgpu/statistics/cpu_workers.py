"""Threads of our own, which the compiled kernels and, after a fork, torch operators run on.

Kernels release the interpreter's lock, so frames are split over plain threads. Numba's own threads
and torch's would both be a trap: torch splits every large operator over OpenMP threads and joins
them again, and with one core busy elsewhere each join waits for it; and neither survives a fork.

That is also what makes the reference work in a forked process: a large operator on the thread that
forked would wait for ever for OpenMP threads that are not there. Here each thread has but one.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

import torch

Result = TypeVar("Result")


def run_in_parallel(function: Callable[[int, int], None], num_items: int) -> None:
    """Call ``function(start, stop)`` on slices of ``range(num_items)``, one slice a thread.

    Uses as many threads as ``torch.get_num_threads()`` allows the caller; with one, the caller's
    own. The caller's setting is as before on return.
    """
    num_threads = min(torch.get_num_threads(), num_items)
    if torch.get_num_threads() == 1:
        function(0, num_items)
        return
    bounds = [num_items * i // num_threads for i in range(num_threads + 1)]
    pool = _pool(os.getpid(), torch.get_num_threads())
    futures = [pool.submit(function, a, b) for a, b in pairwise(bounds)]
    wait(futures)
    for future in futures:
        future.result()


def run_after_fork(function: Callable[[], Result]) -> Result:
    """Call ``function`` where large torch operators work: in a forked process, on a thread here."""
    return run_on_one_thread(function) if _is_forked else function()


def run_on_one_thread(function: Callable[[], Result]) -> Result:
    """Call ``function`` on a thread here, whose torch operators use no other.

    Torch's threads spin after each operator; beside other work that doubles what small operators
    cost.
    """
    return _pool(os.getpid(), torch.get_num_threads()).submit(function).result()


@functools.lru_cache(maxsize=1)
def _pool(process_id: int, num_threads: int) -> ThreadPoolExecutor:
    # Keyed by process: threads do not survive a fork.
    return ThreadPoolExecutor(
        num_threads,
        thread_name_prefix=f"wbgpu-statistics-{process_id}",
        initializer=_limit_this_thread,
    )


def _limit_this_thread() -> None:
    # torch.set_num_threads sets this thread's limit and also what threads started later inherit.
    # A throw-away thread puts the latter back; no setting that the user sees has changed.
    with _limit_lock:
        inherited = torch.get_num_threads()
        torch.set_num_threads(1)
        restore = threading.Thread(target=torch.set_num_threads, args=(inherited,))
        restore.start()
        restore.join()


_limit_lock = threading.Lock()
_is_forked = False


def _after_fork() -> None:
    global _limit_lock, _is_forked
    # Another thread of the parent may have held it.
    _limit_lock = threading.Lock()
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
