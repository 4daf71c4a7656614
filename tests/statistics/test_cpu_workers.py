"""Worker threads must not change torch's thread settings for anyone else."""

from __future__ import annotations

import threading

import pytest
import torch

from tests.statistics.forking import assert_works_in_a_fork, needs_fork
from wbgpu.statistics.cpu_workers import run_in_parallel, run_on_one_thread


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_each_item_is_processed_once_with_one_torch_thread(three_threads):
    """Threads of threads are slow, and an item left out scores as zero."""
    seen: list[tuple[int, int]] = []
    settings: list[int] = []

    def work(start: int, stop: int) -> None:
        seen.append((start, stop))
        settings.append(torch.get_num_threads())

    for num_items in (1, 2, 3, 10):
        seen.clear()
        run_in_parallel(work, num_items)
        assert sorted(i for a, b in seen for i in range(a, b)) == list(range(num_items))
    assert set(settings) == {1}


def test_the_setting_of_the_caller_and_of_new_threads_is_untouched(three_threads):
    """A training loop would go on with one thread after validation."""
    run_in_parallel(lambda start, stop: None, 8)
    assert torch.get_num_threads() == 3
    inherited: list[int] = []
    thread = threading.Thread(target=lambda: inherited.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert inherited == [3]


def test_what_runs_on_one_thread_has_one_and_its_result_and_error_come_back(three_threads):
    """With the caller's three, each small operator would start and await two more."""
    assert run_on_one_thread(torch.get_num_threads) == 1
    with pytest.raises(ZeroDivisionError):
        run_on_one_thread(lambda: 1 // 0)
    assert torch.get_num_threads() == 3


@needs_fork
def test_a_forked_process_makes_its_own_threads(three_threads):
    """Threads do not survive a fork; reusing the parent's pool would wait for ever."""
    run_in_parallel(lambda start, stop: None, 8)

    def run() -> None:
        done: list[int] = []
        run_in_parallel(lambda start, stop: done.extend(range(start, stop)), 8)
        assert sorted(done) == list(range(8))

    assert_works_in_a_fork(run)
