"""Run one evaluation from request to result."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timezone

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Trainer

from wbgpu.aggregate.summary import summarize
from wbgpu.episodes.digests import DatasetDigest, file_sha256
from wbgpu.episodes.logits import LogitFiles
from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import InputError, NothingScoredError
from wbgpu.evaluation.environment import EVALUATION_PACKAGES, environment
from wbgpu.evaluation.episode import unsupported_infos
from wbgpu.evaluation.logit_reader import LogitReader
from wbgpu.evaluation.module import EvaluationModule
from wbgpu.evaluation.progress import EvaluationProgress
from wbgpu.evaluation.request import EvaluationRequest, device_name, resolve_device
from wbgpu.evaluation.steps import LoopSteps
from wbgpu.evaluation.token_losses import TOKEN_LOG_LOSS
from wbgpu.records.suite import (
    SCHEMA_VERSION,
    EpisodeResult,
    Protocol,
    Provenance,
    ResultType,
    SuiteResult,
)
from wbgpu.records.timeline import NO_TIMELINE, Timeline
from wbgpu.statistics import resolve_path
from wbgpu.version import __version__
from wbgpu.video.loader import WindowLoader
from wbgpu.video.windows import EpisodeSource


def run(
    request: EvaluationRequest,
    *,
    show_progress: bool = False,
    timeline: Timeline = NO_TIMELINE,
) -> SuiteResult:
    """Decode, measure and score every episode of the request.

    Args:
        request: what to evaluate.
        show_progress: show a progress bar on standard error.
        timeline: measures the stages; the result does not depend on it.

    Raises:
        InputError: folders or files that do not exist or do not pair up.
        ConfigurationError: the device is not there.
        NothingScoredError: every episode failed; the message has the first reasons.
    """
    device = resolve_device(request.device)
    pairs = request.pairs()
    logits = request.logit_files(pairs)
    stop = threading.Event()
    with ThreadPoolExecutor(1, "wbgpu-digests") as pool:
        digests = pool.submit(_digests, pairs, logits, stop, timeline)
        try:
            module = _measure(request, pairs, logits, device, show_progress, timeline)
        except BaseException:
            stop.set()
            raise
        identifier, input_sha256 = digests.result()

    _raise_if_nothing_scored(module)
    episodes = tuple(module.episodes[index] for index in range(len(pairs)))
    with timeline.span("summarize"):
        return _result(request, episodes, device, identifier, input_sha256)


def _result(
    request: EvaluationRequest,
    episodes: tuple[EpisodeResult, ...],
    device: torch.device,
    identifier: str | None,
    input_sha256: Mapping[str, str],
) -> SuiteResult:
    profile = request.measured_profile
    infos = {name: metric.info for name, metric in request.metrics.items()}
    if request.logits is not None:
        infos[TOKEN_LOG_LOSS.name] = TOKEN_LOG_LOSS
    result_type: ResultType = "evaluation" if request.ground_truth.is_file() else "batch_evaluation"
    return SuiteResult(
        result_type=result_type,
        schema_version=SCHEMA_VERSION,
        producer=f"wbgpu {__version__}",
        created_at=datetime.now(timezone.utc).isoformat(),
        checkpoint_name=request.checkpoint_name,
        ground_truth_root=str(request.ground_truth),
        predictions_root=str(request.predictions),
        num_context=request.num_context,
        dataset_identifier=identifier,
        enabled_metrics=profile.enabled_metrics,
        required_metrics=profile.required_metrics,
        configured_weights=profile.configured_weights,
        configuration_hash=profile.configuration_hash,
        metric_infos={**infos, **unsupported_infos(profile)},
        episodes=episodes,
        summary=summarize(
            episodes,
            enabled_metrics=profile.enabled_metrics,
            configured_weights=profile.configured_weights,
            result_type=result_type,
        ),
        protocol=Protocol(
            metric_ids={name: info.metric_id for name, info in infos.items()},
            num_context=request.num_context,
            alignment_policy=request.alignment,
            resize_policy="bilinear_antialias" if request.alignment == "safe" else "refuse",
        ),
        provenance=Provenance(
            environment=environment(EVALUATION_PACKAGES),
            device=device_name(device),
            statistics_path=resolve_path(request.statistics_path, device),
            decoder=request.decoder.name,
            input_sha256=input_sha256,
            configuration=request.configuration,
            configuration_file=(
                None if request.configuration_file is None else str(request.configuration_file)
            ),
            command=request.command_line,
        ),
        notes=request.notes,
    )


def _measure(
    request: EvaluationRequest,
    pairs: Sequence[EpisodePair],
    logits: Mapping[str, LogitFiles],
    device: torch.device,
    show_progress: bool,
    timeline: Timeline,
) -> EvaluationModule:
    loader = WindowLoader(
        [
            EpisodeSource(index, pair.ground_truth, pair.prediction)
            for index, pair in enumerate(pairs)
        ],
        decoder=request.decoder,
        num_context=request.num_context,
        policy=request.alignment,
        max_mismatch_ratio=request.max_mismatch_ratio,
        max_mismatch_frames=request.max_mismatch_frames,
        window_frames=request.window_frames,
        device=device,
        num_workers=request.num_workers,
        timeline=timeline,
    )
    module = EvaluationModule(request, pairs, logits, timeline)
    with _quiet_lightning():
        trainer = Trainer(
            accelerator="gpu" if device.type == "cuda" else "cpu",
            devices=1 if device.type == "cpu" else [device.index],
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            use_distributed_sampler=False,
            # Not the cluster's: on a SLURM node with several tasks Lightning would wait for them.
            plugins=[LightningEnvironment()],
            callbacks=[EvaluationProgress(len(pairs))] if show_progress else [],
        )
        with _keyboard_interrupt(trainer):
            trainer.test(module, dataloaders=LoopSteps(loader), verbose=False)
    return module


def _raise_if_nothing_scored(module: EvaluationModule) -> None:
    if len(module.failures) == len(module.episodes):
        reasons = [str(error) for _, error in sorted(module.failures.items())]
        more = f"\n... and {len(reasons) - 3} more" if len(reasons) > 3 else ""
        raise NothingScoredError("\n".join(reasons[:3]) + more)


def _digests(
    pairs: Sequence[EpisodePair],
    logits: Mapping[str, LogitFiles],
    stop: threading.Event,
    timeline: Timeline,
) -> tuple[str | None, Mapping[str, str]]:
    """Dataset identifier and digest by file; unreadable files have none (decoding reports them)."""
    dataset: DatasetDigest | None = DatasetDigest()
    digests = {}
    for pair in pairs:
        files = [("ground_truth", pair.ground_truth), ("prediction", pair.prediction)]
        tokens = logits.get(pair.episode_id)
        if tokens is not None:
            files += [item for item in tokens.paths.items() if item[0] != "targets"]
        for role, path in files:
            if stop.is_set():
                return None, {}
            try:
                include = dataset if role == "ground_truth" else None
                with timeline.span("digests", num_bytes=path.stat().st_size):
                    digest = file_sha256(path, pair.episode_id, include)
                digests[f"{role}/{pair.episode_id}"] = digest
            except OSError:
                dataset = None if role == "ground_truth" else dataset
        if tokens is not None:
            # What they say and not their file, in which logits may stand as well.
            with suppress(InputError), LogitReader(tokens) as reader:
                digests[f"targets/{pair.episode_id}"] = reader.targets_sha256()
    return None if dataset is None else dataset.identifier(), digests


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
