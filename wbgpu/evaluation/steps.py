"""What Lightning's loop takes in one step: it costs as much as a dozen frames, so few steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wbgpu.video.loader import LoaderItem
from wbgpu.video.windows import EpisodeClosed, Window


class LoopSteps:
    """A loader's items, each window with the events before it, and the events after the last.

    A window is handed out at once, so it is measured while the next one is decoded.

    Args:
        loader: of windows.
        each_episode: hand out the end of an episode at once too, where the next one may take long.
    """

    def __init__(self, loader: Iterable[LoaderItem], *, each_episode: bool = False) -> None:
        self._loader = loader
        self._each_episode = each_episode

    def __iter__(self) -> Iterator[list[LoaderItem]]:
        step: list[LoaderItem] = []
        for item in self._loader:
            step.append(item)
            is_end = self._each_episode and isinstance(item, EpisodeClosed)
            if is_end or isinstance(item, Window):
                # Two windows are not to be held.
                del item
                yield step
                step = []
            if is_end:
                # Lightning asks for a step more before it runs one.
                yield []
        if step:
            yield step
