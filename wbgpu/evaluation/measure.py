"""Decode, measure and score episodes in this process, by Lightning's loop."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Trainer

from wbgpu.episodes.logits import LogitFiles
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.evaluation.live import live_loader
from wbgpu.evaluation.module import EvaluationModule
from wbgpu.evaluation.progress import ProgressBar
from wbgpu.evaluation.request import EvaluationRequest
from wbgpu.records.distribution_distance import Features
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.suite import EpisodeResult
from wbgpu.records.timeline import NO_TIMELINE, Timeline
from wbgpu.video.loader import Loader, LoaderItem, WindowLoader
from wbgpu.video.windows import EpisodeSource


def measure(
    request: EvaluationRequest,
    pairs: Sequence[EpisodePair],
    logits: Mapping[str, LogitFiles],
    indices: Sequence[int],
    device: torch.device,
    *,
    on_episode: Callable[[EpisodeResult, Features], None] | None = None,
    num_sharing: int = 1,
    show_progress: bool = False,
    timeline: Timeline = NO_TIMELINE,
) -> tuple[dict[int, EpisodeResult], dict[int, Features]]:
    """Evaluate some of the request's episodes.

    Args:
        request: what to evaluate.
        pairs: all its episodes.
        logits: of all, by episode id.
        indices: of those to evaluate, rising.
        device: where to compute.
        on_episode: is given each episode's record and features as soon as they are complete.
        num_sharing: processes on this machine that evaluate at the same time.
        show_progress: show a progress bar on standard error.
        timeline: measures the stages.

    Returns:
        The record of each, scored or failed, and the features of each that was scored, by index.
    """
    if not indices:
        return {}, {}
    num_workers = request.num_workers
    if num_workers is None and num_sharing > 1:
        num_workers = max(1, min(4, (os.cpu_count() or 1) // num_sharing))
    loader: Loader
    token_losses: Mapping[int, MetricOutcome] = {}
    if request.live is not None:
        loader = live = live_loader(
            request,
            request.live,
            pairs,
            indices,
            device,
            num_workers=num_workers,
            timeline=timeline,
        )
        token_losses = live.token_losses
    else:
        loader = WindowLoader(
            [
                EpisodeSource(index, pairs[index].ground_truth, pairs[index].prediction)
                for index in indices
            ],
            decoder=request.decoder,
            num_context=request.num_context,
            policy=request.alignment,
            max_mismatch_ratio=request.max_mismatch_ratio,
            max_mismatch_frames=request.max_mismatch_frames,
            resize=request.resize,
            whole_predictions=request.whole_predictions,
            window_frames=request.window_frames,
            device=device,
            num_workers=num_workers,
            timeline=timeline,
        )
    module = EvaluationModule(request, pairs, logits, timeline, on_episode, token_losses)
    run_module(module, loader, device, len(indices), show_progress=show_progress)
    return module.episodes, module.features


def run_module(
    module: EvaluationModule,
    loader: Loader,
    device: torch.device,
    num_episodes: int,
    *,
    show_progress: bool = False,
) -> None:
    """Give a module all of a loader's items, by Lightning's loop.

    Args:
        module: measures and scores them.
        loader: of windows.
        device: where to compute.
        num_episodes: of the progress bar.
        show_progress: show it on standard error.
    """
    items = ProgressBar(num_episodes).over(loader) if show_progress else iter(loader)
    # Its threads end here, whatever holds on to it.
    with closing(items), _quiet_lightning():
        # Asked for the first item, a loader decodes ahead while Lightning gets ready.
        first = [*islice(items, 1)]
        trainer = Trainer(
            accelerator="gpu" if device.type == "cuda" else "cpu",
            devices=1 if device.type == "cpu" else [device.index],
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            use_distributed_sampler=False,
            plugins=[_OneProcess()],
        )
        with _keyboard_interrupt(trainer):
            trainer.test(module, dataloaders=_OneStep(chain(first, items)), verbose=False)


class _OneStep:
    """All items as one step of Lightning's loop.

    Each step costs as much as a dozen frames, and the loop runs none before it has the next.
    """

    def __init__(self, items: Iterator[LoaderItem]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Iterator[LoaderItem]]:
        yield self._items


class _OneProcess(LightningEnvironment):
    """Keeps Lightning from joining, or changing, what started this process.

    On a SLURM node with several tasks it would wait for them; under torchrun it would take this
    process for one of a training, delete ``WORLD_SIZE`` at the end, and make every rank the one
    that logs.
    """

    @property
    def creates_processes_externally(self) -> bool:
        return False

    def set_global_rank(self, rank: int) -> None:
        self._global_rank = rank

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return 0

    def teardown(self) -> None:
        pass


@contextmanager
def _keyboard_interrupt(trainer: Trainer) -> Iterator[None]:
    """Lightning answers Ctrl-C with ``sys.exit(1)`` and leaves SIGINT ignored; undo both."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit:
        if trainer.interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Lightning announces devices and tips, and warns about loaders it does not know."""
    handlers = logging.getLogger("lightning.pytorch").handlers[:]

    # Filters of our own and not the level: evaluations on several threads come and go.
    def only_warnings(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING

    for handler in handlers:
        handler.addFilter(only_warnings)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\.")
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(only_warnings)
