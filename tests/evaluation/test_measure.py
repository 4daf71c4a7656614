"""How a loader's items reach the module."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule

from wbgpu.evaluation.measure import run_module
from wbgpu.evaluation.module import EvaluationModule
from wbgpu.video.loader import LoaderItem
from wbgpu.video.windows import EpisodeClosed, EpisodeOpened, Window


def window(index: int) -> Window:
    nothing = torch.zeros(1, dtype=torch.int64)
    frames = torch.zeros(1, 3, 7, 7, dtype=torch.uint8)
    row = np.array([index])
    return Window(frames, frames, nothing, nothing - 1, None, nothing - 1, row, row)


class Loader:
    """Two windows of one episode; says what was asked for, and whether it was closed."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.window: Any = lambda: None

    def __iter__(self) -> Generator[LoaderItem, None, None]:
        alignment: Any = None
        try:
            yield EpisodeOpened(0, alignment)
            for index in range(2):
                self.log.append(f"read {index}")
                gc.collect()
                assert self.window() is None, "the window before is still held"
                item = window(index)
                self.window = weakref.ref(item)
                yield item
                del item
            yield EpisodeClosed(0)
        finally:
            self.log.append("closed")


class Module(EvaluationModule):
    """Takes items without measuring them."""

    def __init__(self, loader: Loader, raises: bool) -> None:
        LightningModule.__init__(self)
        self._on_episode = None
        self._measured = {}
        self.loader = loader
        self.raises = raises

    def on_test_start(self) -> None:
        pass

    def _take(self, item: LoaderItem) -> None:
        self.loader.log.append(type(item).__name__)
        if self.raises and isinstance(item, Window):
            raise ValueError("of the module")


@pytest.mark.parametrize("show_progress", [False, True])
def test_each_item_is_taken_before_the_next_is_asked_for(show_progress: bool) -> None:
    """A window that waits for the next one is not measured meanwhile, and two are in memory."""
    loader = Loader()
    run_module(Module(loader, False), loader, torch.device("cpu"), 1, show_progress=show_progress)
    assert loader.log == [
        "EpisodeOpened",
        "read 0",
        "Window",
        "read 1",
        "Window",
        "EpisodeClosed",
        "closed",
    ]


@pytest.mark.parametrize("show_progress", [False, True])
def test_an_error_closes_the_loader(show_progress: bool) -> None:
    """Its threads would decode on while the error is handled, which holds on to the items."""
    loader = Loader()
    with pytest.raises(ValueError, match="of the module") as caught:
        run_module(
            Module(loader, True), loader, torch.device("cpu"), 1, show_progress=show_progress
        )
    assert loader.log == ["EpisodeOpened", "read 0", "Window", "closed"]
    del caught
