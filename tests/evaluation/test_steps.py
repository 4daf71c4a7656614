"""How the loader's items reach Lightning's loop."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from wbgpu.evaluation.steps import LoopSteps
from wbgpu.video.loader import LoaderItem
from wbgpu.video.windows import EpisodeClosed, EpisodeOpened, Window


def window(index: int) -> Window:
    nothing = torch.zeros(1, dtype=torch.int64)
    frames = torch.zeros(1, 3, 7, 7, dtype=torch.uint8)
    row = np.array([index])
    return Window(frames, frames, nothing, nothing - 1, None, nothing - 1, row, row)


def opened(index: int) -> EpisodeOpened:
    alignment: Any = None
    return EpisodeOpened(index, alignment)


class Loader:
    """Says which item was asked for last."""

    def __init__(self, items: list[LoaderItem]) -> None:
        self.items = items
        self.num_read = 0

    def __iter__(self) -> Iterator[LoaderItem]:
        for item in self.items:
            self.num_read += 1
            yield item


@pytest.fixture
def loader() -> Any:
    return Loader(
        [
            opened(0),
            window(0),
            window(0),
            EpisodeClosed(0),
            opened(1),
            window(1),
            EpisodeClosed(1),
        ]
    )


def test_every_item_once_and_in_order(loader: Any) -> None:
    """A lost or moved event would score an episode without its last frames, or never."""
    steps = list(LoopSteps(loader))
    assert [item for step in steps for item in step] == loader.items
    assert [len(step) for step in steps] == [2, 1, 3, 1]


def test_a_window_is_not_kept_waiting_for_the_next(loader: Any) -> None:
    """It is to be measured while the next one is decoded."""
    steps = iter(LoopSteps(loader))
    next(steps)
    assert loader.num_read == 2
    next(steps)
    assert loader.num_read == 3


def test_a_window_is_free_when_its_step_is_dropped() -> None:
    """Two windows at once would double the memory of an evaluation."""

    class Fleeting:
        def __iter__(self) -> Iterator[LoaderItem]:
            yield window(0)
            gc.collect()
            assert first() is None, "the first window is still held"
            yield window(1)

    loader: Any = Fleeting()
    steps = iter(LoopSteps(loader))
    step = next(steps)
    first = weakref.ref(step[0])
    del step
    next(steps)
