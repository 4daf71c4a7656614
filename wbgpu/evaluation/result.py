"""The record of a whole run, and what of it says whether a journal belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch

from wbgpu.aggregate.summary import summarize
from wbgpu.evaluation.environment import EVALUATION_PACKAGES, environment
from wbgpu.evaluation.episode import unmeasured_infos
from wbgpu.evaluation.request import EvaluationRequest, device_name
from wbgpu.evaluation.token_losses import TOKEN_LOG_LOSS
from wbgpu.records.created_at import created_at
from wbgpu.records.distribution_distance import DistributionDistance
from wbgpu.records.metric import MetricInfo
from wbgpu.records.suite import (
    SCHEMA_VERSION,
    EpisodeResult,
    Protocol,
    Provenance,
    SuiteResult,
)
from wbgpu.statistics import resolve_path
from wbgpu.version import __version__

_NOT_OF_EPISODES = ("name", "output", "loader", "objective", "objective_if_failed")


def suite_result(
    request: EvaluationRequest,
    episodes: tuple[EpisodeResult, ...],
    device: torch.device,
    identifier: str | None,
    input_sha256: Mapping[str, str],
    distances: tuple[DistributionDistance, ...] = (),
) -> SuiteResult:
    """Put the episodes together, always in the same order.

    Args:
        request: what was evaluated.
        episodes: all of them, sorted by id.
        device: where it was measured.
        identifier: of the ground truth, or ``None``.
        input_sha256: by ``role/episode_id``.
        distances: of the suite as a whole.
    """
    profile = request.measured_profile
    has_logits = any(TOKEN_LOG_LOSS.name in episode.metrics for episode in episodes)
    infos = _metric_infos(request, has_logits)
    result_type = request.result_type
    return SuiteResult(
        result_type=result_type,
        schema_version=SCHEMA_VERSION,
        producer=f"wbgpu {__version__}",
        created_at=created_at(),
        checkpoint_name=request.checkpoint_name,
        ground_truth_root=str(request.ground_truth),
        predictions_root=request.predictions_root,
        num_context=request.num_context,
        dataset_identifier=identifier,
        enabled_metrics=profile.enabled_metrics,
        required_metrics=profile.required_metrics,
        configured_weights=profile.configured_weights,
        configuration_hash=profile.configuration_hash,
        metric_infos={**infos, **unmeasured_infos(profile, infos)},
        episodes=episodes,
        summary=summarize(
            episodes,
            enabled_metrics=profile.enabled_metrics,
            configured_weights=profile.configured_weights,
            result_type=result_type,
        ),
        protocol=_protocol(request, has_logits),
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
        notes=(*request.notes, *request.description.notes),
        distribution_distances=distances,
    )


def journal_header(
    request: EvaluationRequest, device: torch.device, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """All that the records of a run's episodes depend on, as plain JSON data.

    Args:
        request: what is evaluated.
        device: where it is measured.
        sizes: bytes of every input file, by ``role/episode_id``.
    """
    kept = {
        key: value for key, value in request.configuration.items() if key not in _NOT_OF_EPISODES
    }
    distances = {name: distance.metric_id for name, distance in request.distances.items()}
    return {
        **({"distribution_distances": distances} if distances else {}),
        "ground_truth": str(request.ground_truth),
        "predictions": request.predictions_root,
        "logits": None if request.logits is None else str(request.logits),
        "protocol": asdict(_protocol(request, request.logits is not None)),
        "weights": dict(request.measured_profile.configured_weights),
        "environment": environment(EVALUATION_PACKAGES),
        # Of its kind, whichever of several it is.
        "device": device_name(device).partition("(")[2].rstrip(")") or device.type,
        "statistics_path": resolve_path(request.statistics_path, device),
        "decoder": request.decoder.name,
        "configuration": kept,
        "input_bytes": dict(sizes),
    }


def _protocol(request: EvaluationRequest, has_logits: bool) -> Protocol:
    infos = _metric_infos(request, has_logits)
    return Protocol(
        metric_ids={name: info.metric_id for name, info in infos.items()},
        num_context=request.num_context,
        alignment_policy=request.alignment,
        resize_policy=f"{request.resize}_antialias" if request.alignment == "safe" else "refuse",
        whole_predictions=request.whole_predictions,
    )


def _metric_infos(request: EvaluationRequest, has_logits: bool) -> dict[str, MetricInfo]:
    infos = {name: metric.info for name, metric in request.metrics.items()}
    if has_logits:
        infos[TOKEN_LOG_LOSS.name] = TOKEN_LOG_LOSS
    return infos
