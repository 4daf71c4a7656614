"""Records into worldbench's batch document, schema 2, and our extension of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wbgpu.records.comparison import UNCHANGED_TOLERANCE
from wbgpu.records.garbage import collection_paused
from wbgpu.records.suite import SCHEMA_VERSION, EpisodeResult, SuiteResult
from wbgpu.records.worldbench.distributions import coverage_payload, distribution_payload
from wbgpu.records.worldbench.evaluation import evaluation_document
from wbgpu.records.worldbench.extension import EXTENSION, episode_extension, suite_extension
from wbgpu.records.worldbench.settings import (
    COMPATIBLE_VERSION,
    check_type,
    composite_settings,
    configuration,
)
from wbgpu.records.worldbench.single_episode import single_episode
from wbgpu.records.worldbench.summaries import (
    horizons_payload,
    metric_summary_payload,
    own_aggregates_payload,
)

_PAIRING_RULE = (
    "The prediction of a ground-truth video has the same path below its own root; "
    "the file extensions may differ."
)


@collection_paused()
def batch_payload(
    result: SuiteResult,
    result_paths: Mapping[str, str] | None = None,
    *,
    gate: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A batch document: what ``worldbench gate`` reads, and the extension.

    Args:
        result: of type ``batch_evaluation``.
        result_paths: by episode id, where the episode's own evaluation is saved.
        gate: gate settings of the project's configuration file, by worldbench's key.

    Raises:
        ValueError: the result is of another type.
    """
    check_type(result, "batch_evaluation")
    composite = frozenset(result.enabled_metrics)
    summary = result.summary
    overall = distribution_payload(summary.overall)
    paths = result_paths or {}
    return {
        "schema_version": SCHEMA_VERSION,
        "result_type": "batch_evaluation",
        "worldbench_version": COMPATIBLE_VERSION,
        "created_at": result.created_at,
        "checkpoint_name": result.checkpoint_name,
        "ground_truth_root": result.ground_truth_root,
        "predictions_root": result.predictions_root,
        "skip_context": result.num_context,
        "pairing_rule": _PAIRING_RULE,
        "episode_count": len(result.episodes),
        "episode_ids": [episode.episode_id for episode in result.episodes],
        "dataset_identifier": result.dataset_identifier,
        "episodes": [
            _batch_episode(result, episode, paths.get(episode.episode_id), gate)
            for episode in result.episodes
        ],
        "aggregate": {
            "composite_score": overall,
            "overall": overall,
            "metrics": {
                name: metric_summary_payload(metric)
                for name, metric in summary.metrics.items()
                if name in composite
            },
        },
        "coverage": coverage_payload(summary.coverage),
        **composite_settings(result),
        "horizon": horizons_payload(summary.horizons, composite),
        "worst_episodes": [
            {"episode_id": episode_id, "score": score}
            for episode_id, score in summary.worst_episodes
        ],
        "configuration": {
            "skip_context": result.num_context,
            **configuration(result, gate, ("json_output", "markdown_output")),
            "unchanged_tolerance": UNCHANGED_TOLERANCE,
        },
        EXTENSION: suite_extension(result) | own_aggregates_payload(result),
    }


def _batch_episode(
    result: SuiteResult,
    episode: EpisodeResult,
    path: str | None,
    gate: Mapping[str, Any] | None,
) -> dict[str, Any]:
    extension = episode_extension(episode, frozenset(result.enabled_metrics))
    # Its paths stand beside it, in worldbench's keys.
    del extension["ground_truth_path"], extension["prediction_path"]
    head = {
        "episode_id": episode.episode_id,
        "ground_truth_path": episode.ground_truth_path,
        "prediction_path": episode.prediction_path,
        "result_path": path,
        "score": episode.score,
    }
    if episode.failure is not None:
        message = f"{episode.failure.error_type}: {episode.failure.message}"
        return head | {
            "metrics": {},
            "horizon": {},
            "issues": [message],
            "main_failure": message,
            "result": None,
            EXTENSION: extension,
        }
    alone = single_episode(result, episode, with_horizons=False)
    evaluation = evaluation_document(alone, episode.episode_id, gate, extended=False)
    return head | {
        "metrics": evaluation["metrics"],
        "horizon": evaluation["horizon"],
        "issues": evaluation["issues"],
        "main_failure": evaluation["main_failure"],
        "result": evaluation,
        EXTENSION: extension,
    }
