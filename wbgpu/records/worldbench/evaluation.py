"""Records into worldbench's evaluation document, schema 2, and our extension of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wbgpu.records.garbage import collection_paused
from wbgpu.records.metric import MetricOutcome
from wbgpu.records.strict_json import Line
from wbgpu.records.suite import SCHEMA_VERSION, EpisodeResult, SuiteResult
from wbgpu.records.summary import MetricSummary
from wbgpu.records.worldbench.distributions import coverage_payload
from wbgpu.records.worldbench.extension import EXTENSION, episode_extension, suite_extension
from wbgpu.records.worldbench.horizons import horizon_label
from wbgpu.records.worldbench.main_failure import main_failure
from wbgpu.records.worldbench.metric_entries import (
    prefix_entries,
    unavailable_prefix_entry,
    whole_entry,
)
from wbgpu.records.worldbench.provenance import alignment_provenance, pair_provenance
from wbgpu.records.worldbench.settings import (
    COMPATIBLE_VERSION,
    check_type,
    composite_settings,
    configuration,
)
from wbgpu.records.worldbench.single_episode import single_episode
from wbgpu.records.worldbench.summaries import (
    horizons_payload,
    one_episode_horizons_payload,
    own_aggregates_payload,
)

_MAX_ISSUES = 20


@collection_paused()
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

    Raises:
        ValueError: a batch without ``episode``.
    """
    if episode is None:
        check_type(result, "evaluation")
        return evaluation_document(result, result.checkpoint_name, gate) | {
            EXTENSION: suite_extension(result) | own_aggregates_payload(result)
        }
    alone = single_episode(result, episode)
    return evaluation_document(alone, episode.episode_id, gate) | {
        EXTENSION: suite_extension(alone) | own_aggregates_payload(alone)
    }


def evaluation_document(
    result: SuiteResult, name: str, gate: Mapping[str, Any] | None, extended: bool = True
) -> dict[str, Any]:
    """The document without the extension at its top.

    ``extended`` puts it into the episodes; otherwise there is one, and the horizons are its own.
    """
    summary, composite = result.summary, frozenset(result.enabled_metrics)
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
        "horizon": horizons_payload(summary.horizons, composite)
        if extended
        else one_episode_horizons_payload(result.episodes[0], composite),
        "provenance": Line(_provenance(result, name)),
        "weights": dict(result.configured_weights),
        **composite_settings(result),
        "coverage": Line(coverage_payload(summary.coverage)),
        "configuration": Line(configuration(result, gate, ("json", "markdown"))),
        "worldbench_version": COMPATIBLE_VERSION,
        "issues": _evaluation_issues(result),
        "main_failure": main_failure({n: entry["score"] for n, entry in metrics.items()}),
    }


def _episode(result: SuiteResult, episode: EpisodeResult, extended: bool) -> dict[str, Any]:
    composite = frozenset(result.enabled_metrics)
    outcomes = {n: episode.metrics[n] for n in result.enabled_metrics if n in episode.metrics}
    prefixes = {name: prefix_entries(outcome) for name, outcome in outcomes.items()}
    whole = {name: whole_entry(outcome, prefixes[name]) for name, outcome in outcomes.items()}
    issues = [
        issue
        for name, outcome in outcomes.items()
        for issue in (*whole[name]["issues"], outcome.reason)
        if issue
    ]
    if episode.failure is not None:
        issues = [f"{episode.failure.error_type}: {episode.failure.message}"]
    entry = {
        "episode": episode.episode_id,
        "score": episode.score,
        "metrics": whole,
        "horizon": _episode_horizons(episode, outcomes, prefixes),
        "issues": issues,
    }
    return entry | ({EXTENSION: episode_extension(episode, composite)} if extended else {})


def _episode_horizons(
    episode: EpisodeResult,
    outcomes: Mapping[str, MetricOutcome],
    prefixes: Mapping[str, Sequence[dict[str, Any] | None]],
) -> dict[str, Line]:
    scores = episode.prefix_scores
    present = [(name, entries) for name, entries in prefixes.items() if entries]
    lacking = [
        (name, outcome.error_type, reasons)
        for name, outcome in outcomes.items()
        if (reasons := outcome.lacking_prefixes(episode.num_steps))
    ]
    return {
        horizon_label(index + 1): Line(
            {
                "horizon_index": index + 1,
                "sample_count": 1,
                "frame_pairs": index + 1,
                "mode": "cumulative_prefix",
                "score": scores[index] if index < len(scores) else None,
                "metrics": {
                    name: entry
                    for name, entries in present
                    if index < len(entries) and (entry := entries[index]) is not None
                },
                "unavailable_metrics": {
                    name: unavailable_prefix_entry(error_type, reasons[index + 1])
                    for name, error_type, reasons in lacking
                    if index + 1 in reasons
                },
            }
        )
        for index in range(episode.num_steps)
    }


def _evaluation_metric(name: str, scored: Sequence[EpisodeResult], summary: MetricSummary) -> Line:
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
    return Line(
        {
            "name": name,
            "score": None if summary.distribution is None else summary.distribution.mean,
            "status": "unsupported" if summary.distribution is None else "available",
            "reason": summary.reason,
            "error_type": next((o.error_type for _, o in outcomes if o.error_type), None),
            "details": details,
            "issues": issues[:_MAX_ISSUES],
        }
    )


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
