"""A progress bar on standard error: episodes, frames per second and time left."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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


class EvaluationProgress(Callback):
    """Feeds a `ProgressBar` from Lightning's loop.

    Args:
        num_episodes: episodes to evaluate.
    """

    def __init__(self, num_episodes: int) -> None:
        self._bar = ProgressBar(num_episodes)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the bar."""
        self._bar.start()

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *args: Any
    ) -> None:
        """Count what was finished."""
        self._bar.advance(
            sum(isinstance(item, (EpisodeClosed, EpisodeFailed)) for item in batch),
            sum(len(item.step) for item in batch if isinstance(item, Window)),
        )

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the bar."""
        self._bar.stop()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Remove the bar, so that the error stands on a clean line."""
        self._bar.stop()
