"""Records into worldbench's batch and evaluation documents, schema 2, and our extension of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wbgpu.records.comparison import UNCHANGED_TOLERANCE
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.profile import COMPOSITE_METRICS, DEFAULT_WEIGHTS
from wbgpu.records.suite import SCHEMA_VERSION, EpisodeResult, SuiteResult
from wbgpu.records.summary import MetricSummary
from wbgpu.records.worldbench.distributions import coverage_payload, distribution_payload
from wbgpu.records.worldbench.extension import EXTENSION, episode_extension, suite_extension
from wbgpu.records.worldbench.horizons import horizon_label
from wbgpu.records.worldbench.main_failure import main_failure
from wbgpu.records.worldbench.metric_entries import (
    prefix_entry,
    unavailable_prefix_entry,
    whole_entry,
)
from wbgpu.records.worldbench.provenance import alignment_provenance, pair_provenance
from wbgpu.records.worldbench.single_episode import single_episode
from wbgpu.records.worldbench.summaries import (
    horizons_payload,
    metric_summary_payload,
    own_horizons_payload,
)

COMPATIBLE_VERSION = "0.4.1"
"""The worldbench release whose files and rules ours follow; written as ``worldbench_version``.
Who made a file stands in ``wbgpu.producer``."""

_MAX_ISSUES = 20
_GATE_DEFAULTS: Mapping[str, Any] = {
    "min_composite_improvement": 0.0,
    "max_episode_regressions": None,
    "max_metric_drop": 0.0,
    "max_horizon_drop": 0.0,
    "min_metric_coverage": 0.0,
    "min_metric_count": 1,
    "min_configured_weight_coverage": 0.0,
    "strict_config_match": True,
}


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
    """
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
        "skip_context": result.skip_context,
        "pairing_rule": "Videos are paired by relative POSIX path under each root.",
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
        **_composite_settings(result),
        "horizon": horizons_payload(summary.horizons, composite),
        "worst_episodes": [
            {"episode_id": episode_id, "score": score}
            for episode_id, score in summary.worst_episodes
        ],
        "configuration": {
            "skip_context": result.skip_context,
            **_configuration(result, gate, ("json_output", "markdown_output")),
            "unchanged_tolerance": UNCHANGED_TOLERANCE,
        },
        EXTENSION: _suite_extension(result),
    }


def evaluation_payload(
    result: SuiteResult,
    episode: EpisodeResult | None = None,
    *,
    gate: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """An evaluation document: what ``worldbench report``, ``compare`` and ``dashboard`` read.

    Args:
        result: of type ``evaluation``; or a batch of which ``episode`` is written.
        episode: one scored episode, written as a result of its own.
        gate: as in :func:`batch_payload`.
    """
    if episode is None:
        return _evaluation(result, result.checkpoint_name, gate) | {
            EXTENSION: _suite_extension(result)
        }
    alone = single_episode(result, episode)
    return _evaluation(alone, episode.episode_id, gate) | {EXTENSION: _suite_extension(alone)}


def _evaluation(
    result: SuiteResult, name: str, gate: Mapping[str, Any] | None, extended: bool = True
) -> dict[str, Any]:
    summary = result.summary
    scored = [episode for episode in result.episodes if episode.failure is None]
    metrics = {
        metric: _evaluation_metric(metric, scored, summary.metrics[metric])
        for metric in result.enabled_metrics
        if metric in summary.metrics
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "result_type": "evaluation",
        "dataset_path": result.ground_truth_root,
        "predictions_path": result.predictions_root or None,
        "created_at": result.created_at,
        "score": summary.score,
        "composite_score": summary.score,
        "metrics": metrics,
        "episodes": [_episode(result, episode, extended) for episode in result.episodes],
        "horizon": horizons_payload(summary.horizons, frozenset(result.enabled_metrics)),
        "provenance": _provenance(result, name),
        "weights": dict(result.configured_weights),
        **_composite_settings(result),
        "coverage": coverage_payload(summary.coverage),
        "configuration": _configuration(result, gate, ("json", "markdown")),
        "worldbench_version": COMPATIBLE_VERSION,
        "issues": _evaluation_issues(result),
        "main_failure": main_failure({n: entry["score"] for n, entry in metrics.items()}),
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
    evaluation = _evaluation(
        single_episode(result, episode), episode.episode_id, gate, extended=False
    )
    return head | {
        "metrics": evaluation["metrics"],
        "horizon": evaluation["horizon"],
        "issues": evaluation["issues"],
        "main_failure": evaluation["main_failure"],
        "result": evaluation,
        EXTENSION: extension,
    }


def _episode(result: SuiteResult, episode: EpisodeResult, extended: bool) -> dict[str, Any]:
    composite = frozenset(result.enabled_metrics)
    outcomes = {n: episode.metrics[n] for n in result.enabled_metrics if n in episode.metrics}
    issues = [
        issue
        for outcome in outcomes.values()
        for issue in (*whole_entry(outcome)["issues"], outcome.reason)
        if issue
    ]
    if episode.failure is not None:
        issues = [f"{episode.failure.error_type}: {episode.failure.message}"]
    entry = {
        "episode": episode.episode_id,
        "score": episode.score,
        "metrics": {name: whole_entry(outcome) for name, outcome in outcomes.items()},
        "horizon": {
            horizon_label(horizon): _episode_horizon(episode, outcomes, horizon)
            for horizon in range(1, episode.num_steps + 1)
        },
        "issues": issues,
    }
    return entry | ({EXTENSION: episode_extension(episode, composite)} if extended else {})


def _episode_horizon(
    episode: EpisodeResult, outcomes: Mapping[str, MetricOutcome], horizon: int
) -> dict[str, Any]:
    scores = episode.prefix_scores
    return {
        "horizon_index": horizon,
        "sample_count": 1,
        "frame_pairs": horizon,
        "mode": "cumulative_prefix",
        "score": scores[horizon - 1] if horizon <= len(scores) else None,
        "metrics": {
            name: prefix_entry(outcome, horizon)
            for name, outcome in outcomes.items()
            if outcome.prefix_at(horizon) is not None
        },
        "unavailable_metrics": {
            name: unavailable_prefix_entry(outcome, horizon)
            for name, outcome in outcomes.items()
            if outcome.lacks_prefix_at(horizon)
        },
    }


def _evaluation_metric(
    name: str, scored: Sequence[EpisodeResult], summary: MetricSummary
) -> dict[str, Any]:
    """A metric over all episodes of an evaluation."""
    outcomes = [(e.episode_id, e.metrics[name]) for e in scored if name in e.metrics]
    values = [outcome.value for _, outcome in outcomes if outcome.value is not None]
    if summary.distribution is None:
        details: dict[str, Any] = {
            "available_episode_scores": values,
            "unsupported_episodes": [f"{i}: {o.reason}" for i, o in outcomes if o.reason],
        }
        issues = details["unsupported_episodes"]
    else:
        details = {"episode_scores": values}
        issues = [f"{i}: {issue}" for i, o in outcomes for issue in o.issues]
    return {
        "name": name,
        "score": None if summary.distribution is None else summary.distribution.mean,
        "status": "unsupported" if summary.distribution is None else "available",
        "reason": summary.reason,
        "error_type": next((o.error_type for _, o in outcomes if o.error_type), None),
        "details": details,
        "issues": issues[:_MAX_ISSUES],
    }


def _evaluation_issues(result: SuiteResult) -> list[str]:
    issues: list[str] = []
    for episode in result.episodes:
        issues.extend(episode.warnings)
        for name in result.enabled_metrics:
            outcome = episode.metrics.get(name)
            if outcome is not None and outcome.reason:
                issues.append(f"{episode.episode_id}: {outcome.reason}")
    return issues


def _provenance(result: SuiteResult, name: str) -> dict[str, Any]:
    if len(result.episodes) != 1:
        return {}
    (episode,) = result.episodes
    known = {} if episode.alignment is None else alignment_provenance(episode.alignment)
    notices = {"demo": True, "demo_notice": list(result.notes)} if result.notes else {}
    return (
        pair_provenance(name, episode.ground_truth_path, episode.prediction_path, result.created_at)
        | known
        | notices
    )


def _composite_settings(result: SuiteResult) -> dict[str, Any]:
    return {
        "enabled_metrics": list(result.enabled_metrics),
        "required_metrics": list(result.required_metrics),
        "configured_weights": dict(result.configured_weights),
        "effective_normalized_weights": dict(result.summary.coverage.effective_normalized_weights),
        "configuration_hash": result.configuration_hash,
    }


def _configuration(
    result: SuiteResult, gate: Mapping[str, Any] | None, outputs: tuple[str, str]
) -> dict[str, Any]:
    return {
        "metrics": {
            name: {
                "enabled": name in result.enabled_metrics,
                "required": name in result.required_metrics,
                "weight": result.configured_weights.get(name, DEFAULT_WEIGHTS[name]),
            }
            for name in COMPOSITE_METRICS
        },
        "gate": {**_GATE_DEFAULTS, **(gate or {})},
        "output": dict.fromkeys(outputs, True),
    }


def _suite_extension(result: SuiteResult) -> dict[str, Any]:
    composite = frozenset(result.enabled_metrics)
    return suite_extension(result) | {
        "aggregate": {
            "metrics": {
                name: metric_summary_payload(metric)
                for name, metric in result.summary.metrics.items()
                if name not in composite
            }
        },
        "horizon": own_horizons_payload(result.summary.horizons, composite),
    }
