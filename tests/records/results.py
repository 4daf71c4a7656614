"""Small results for tests, built through the product's own summariser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wbgpu.aggregate.composite import episode_composite, prefix_composites
from wbgpu.aggregate.summary import summarize
from wbgpu.records.metric import SCORE_UNIT, MetricInfo, MetricOutcome
from wbgpu.records.profile import DEFAULT_WEIGHTS, Profile
from wbgpu.records.suite import EpisodeFailure, EpisodeResult, Protocol, SuiteResult

COMPOSITE = tuple(DEFAULT_WEIGHTS)


def metric_id(name: str) -> str:
    """As the product names its metrics."""
    return f"{name}/worldbench-1.0" if name in COMPOSITE else f"{name}/1"


def available(name: str, prefix: Sequence[float | None], **fields: Any) -> MetricOutcome:
    """A metric whose value is its last prefix value, unless said otherwise."""
    reasons = tuple("too short" if value is None else None for value in prefix)
    values: dict[str, Any] = {
        "name": name,
        "metric_id": metric_id(name),
        "status": "available",
        "value": prefix[-1],
        "prefix": tuple(prefix),
        "prefix_reasons": reasons if None in prefix else (),
    }
    return MetricOutcome(**{**values, **fields})


def unsupported(name: str, reason: str = "does not apply", **fields: Any) -> MetricOutcome:
    values: dict[str, Any] = {
        "name": name,
        "metric_id": metric_id(name),
        "status": "unsupported",
        "reason": reason,
    }
    return MetricOutcome(**{**values, **fields})


def episode(
    episode_id: str,
    outcomes: Sequence[MetricOutcome],
    num_steps: int = 2,
    weights: Mapping[str, float] = DEFAULT_WEIGHTS,
) -> EpisodeResult:
    metrics = {outcome.name: outcome for outcome in outcomes}
    composite = {name: metrics[name] for name in weights if name in metrics}
    return EpisodeResult(
        episode_id=episode_id,
        ground_truth_path=f"gt/{episode_id}",
        prediction_path=f"pred/{episode_id}",
        num_steps=num_steps,
        score=episode_composite(composite, weights),
        prefix_scores=prefix_composites(composite, weights, num_steps),
        metrics=metrics,
    )


def failed(episode_id: str, message: str = "pred.mp4: damaged") -> EpisodeResult:
    return EpisodeResult(
        episode_id=episode_id,
        ground_truth_path=f"gt/{episode_id}",
        prediction_path=f"pred/{episode_id}",
        num_steps=0,
        score=None,
        failure=EpisodeFailure("VideoError", message),
    )


def suite(episodes: Sequence[EpisodeResult], **fields: Any) -> SuiteResult:
    profile = Profile()
    names = dict.fromkeys(name for e in episodes for name in e.metrics)
    infos = {
        name: MetricInfo(
            name,
            metric_id(name),
            SCORE_UNIT if name in COMPOSITE else "dB",
            higher_is_better=True,
        )
        for name in names
    }
    values: dict[str, Any] = {
        "result_type": "batch_evaluation",
        "schema_version": "2",
        "producer": "wbgpu 0.1.0",
        "created_at": "2026-01-01T00:00:00+00:00",
        "checkpoint_name": "step00900",
        "ground_truth_root": "gt",
        "predictions_root": "pred",
        "num_context": 4,
        "dataset_identifier": "sha256:00",
        "enabled_metrics": profile.enabled_metrics,
        "required_metrics": (),
        "configured_weights": profile.configured_weights,
        "configuration_hash": profile.configuration_hash,
        "metric_infos": infos,
        "episodes": tuple(episodes),
        "protocol": Protocol(
            metric_ids={name: info.metric_id for name, info in infos.items()},
            num_context=4,
            alignment_policy="strict",
            resize_policy="refuse",
        ),
    }
    values |= fields
    values.setdefault(
        "summary",
        summarize(
            values["episodes"],
            enabled_metrics=values["enabled_metrics"],
            configured_weights=values["configured_weights"],
            result_type=values["result_type"],
        ),
    )
    return SuiteResult(**values)


def simple_suite(scores: Mapping[str, Sequence[float]], **fields: Any) -> SuiteResult:
    """Episodes with visual_similarity only: their prefix scores are given."""
    episodes = [
        episode(
            episode_id,
            [
                available("visual_similarity", prefix),
                *(unsupported(name) for name in COMPOSITE if name != "visual_similarity"),
            ],
            num_steps=len(prefix),
        )
        for episode_id, prefix in scores.items()
    ]
    return suite(episodes, **fields)
