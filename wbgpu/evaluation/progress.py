"""A progress bar on standard error: episodes, frames per second and time left."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from wbgpu.video.windows import EpisodeClosed, EpisodeFailed, Window


class EvaluationProgress(Callback):
    """Shows how far an evaluation is; silent where standard error is not a terminal.

    Args:
        num_episodes: episodes of the suite.
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

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the bar."""
        self._progress.start()
        self._task = self._progress.add_task(
            "Evaluating", total=self._num_episodes, num_frames=0, rate=""
        )

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *args: Any
    ) -> None:
        """Count what was finished."""
        num_done = sum(isinstance(item, (EpisodeClosed, EpisodeFailed)) for item in batch)
        self._num_frames += sum(len(item.step) for item in batch if isinstance(item, Window))
        elapsed_seconds = self._progress.tasks[0].elapsed or 0.0
        rate = f"{self._num_frames / elapsed_seconds:.0f}/s" if elapsed_seconds else ""
        self._progress.update(self._task, advance=num_done, num_frames=self._num_frames, rate=rate)

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the bar."""
        self._progress.stop()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Remove the bar, so that the error stands on a clean line."""
        self._progress.stop()
