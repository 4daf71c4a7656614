"""Where Hydra's sweep keeps its jobs: only a callback of Hydra is told, and only once it starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

_folders: ContextVar[list[Path] | None] = ContextVar("sweep_folders", default=None)


class SweepFolder(Callback):
    """Named in our configurations; notes the folder of a sweep that starts in this process."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Note the folder."""
        folders = _folders.get()
        if folders is not None:
            folders.append(Path(config.hydra.sweep.dir))


@contextmanager
def sweep_folders() -> Iterator[list[Path]]:
    """Yield a list that holds the folder of a sweep as soon as one starts inside."""
    folders: list[Path] = []
    token = _folders.set(folders)
    try:
        yield folders
    finally:
        _folders.reset(token)
