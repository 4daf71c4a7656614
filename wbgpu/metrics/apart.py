"""Run a network on one input at a time, so that no result depends on what else there is to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch

from wbgpu.statistics.cpu_workers import run_in_parallel

Input = TypeVar("Input")
Output = TypeVar("Output")

FRAMES_TOGETHER = 16
"""Frames that a network on a GPU is given at once."""


@contextmanager
def unfused() -> Iterator[None]:
    """No gradients, and TorchScript as it was written.

    It would otherwise fuse operators after a few calls, and then give the same frames other
    features.
    """
    with torch.no_grad(), torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
        yield


def each_apart(network: Callable[[Input], Output], inputs: Sequence[Input]) -> list[Output]:
    """``network`` of each input, on the CPU; several at once, each on one thread.

    Libraries cut a large operator up by the number of threads and sum in that order. On one thread
    the bits are the same on a laptop and beside 15 other ranks. No gradients.
    """
    outputs: list[Output | None] = [None] * len(inputs)

    def work(start: int, stop: int) -> None:
        # A setting of the thread.
        with unfused():
            for index in range(start, stop):
                outputs[index] = network(inputs[index])

    run_in_parallel(work, len(inputs))
    return [output for output in outputs if output is not None]
