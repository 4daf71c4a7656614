"""What Lightning's loop takes in one step: it costs as much as a dozen frames, so few steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wbgpu.video.loader import LoaderItem
from wbgpu.video.windows import Window


class LoopSteps:
    """A loader's items, each window with the events before it, and the events after the last.

    A window is handed out at once, so it is measured while the next one is decoded.
    """

    def __init__(self, loader: Iterable[LoaderItem]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[list[LoaderItem]]:
        step: list[LoaderItem] = []
        for item in self._loader:
            step.append(item)
            if isinstance(item, Window):
                # Two windows are not to be held.
                del item
                yield step
                step = []
        if step:
            yield step
