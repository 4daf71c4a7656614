"""The parts of the GPU benchmark that need no GPU."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from scripts.benchmark_gpu import differing_fields, interleaved_seconds
from tests.conftest import REPOSITORY
from wbgpu.statistics import FrameStatistics


def test_jobs_take_turns_and_the_first_round_warms_up():
    """A job that always comes after the same one inherits its caches."""
    calls: list[str] = []
    jobs = {name: lambda name=name: calls.append(name) for name in "abc"}

    def time_of(job):
        job()
        return float(len(calls))

    seconds = interleaved_seconds(jobs, time_of, num_rounds=3)
    assert "".join(calls) == "abc" + "bca" + "cab" + "abc"
    assert seconds == {"a": [6.0, 8.0, 10.0], "b": [4.0, 9.0, 11.0], "c": [5.0, 7.0, 12.0]}


def test_fields_that_differ_are_named():
    """A determinism check that compares nothing would pass."""
    first = FrameStatistics(num_values=torch.tensor([3]), ssim=torch.tensor([torch.nan]))
    other = FrameStatistics(num_values=torch.tensor([4]), ssim=torch.tensor([torch.nan]))
    assert differing_fields(first, first) == []
    assert differing_fields(first, other) == ["num_values"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, gpu_check runs it")
def test_without_a_gpu_it_says_so():
    """An empty table of figures would be taken for a result."""
    done = subprocess.run(
        [sys.executable, "scripts/benchmark_gpu.py"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "no CUDA device" in done.stderr
