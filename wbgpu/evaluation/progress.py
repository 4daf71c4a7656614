"""A progress bar on standard error: episodes, frames per second and time left."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from wbgpu.video.loader import Loader, LoaderItem
from wbgpu.video.windows import EpisodeClosed, EpisodeFailed, Window


class ProgressBar:
    """How far an evaluation is; silent where standard error is not a terminal.

    Args:
        num_episodes: episodes to evaluate.
    """

    def __init__(self, num_episodes: int) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("episodes  {task.fields[num_frames]} frames  {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._num_episodes = num_episodes
        self._num_frames = 0

    def start(self) -> None:
        """Show it."""
        self._progress.start()
        self._task = self._progress.add_task(
            "Evaluating", total=self._num_episodes, num_frames=0, rate=""
        )

    def advance(self, num_episodes: int, num_frames: int) -> None:
        """Count what was finished."""
        self._num_frames += num_frames
        elapsed_seconds = self._progress.tasks[0].elapsed or 0.0
        rate = f"{self._num_frames / elapsed_seconds:.0f}/s" if elapsed_seconds else ""
        self._progress.update(
            self._task, advance=num_episodes, num_frames=self._num_frames, rate=rate
        )

    def stop(self) -> None:
        """Remove it."""
        self._progress.stop()

    def over(self, loader: Loader) -> Generator[LoaderItem, None, None]:
        """A loader's items; each counts as finished when the next one is asked for."""
        self.start()
        try:
            with closing(iter(loader)) as items:
                for item in items:
                    yield item
                    self.advance(
                        int(isinstance(item, (EpisodeClosed, EpisodeFailed))),
                        len(item.step) if isinstance(item, Window) else 0,
                    )
                    # Two windows are not to be held.
                    del item
        finally:
            self.stop()
