"""Corruption studies as strict JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wbgpu.records.corruption import (
    CORRUPTION_RESULT_TYPE,
    CORRUPTION_SCHEMA_VERSION,
    CorruptionStudy,
)


def corruption_payload(study: CorruptionStudy) -> dict[str, Any]:
    """The document of a study. Values stand by episode, in the order of ``severities``."""
    return {
        "result_type": CORRUPTION_RESULT_TYPE,
        "schema_version": CORRUPTION_SCHEMA_VERSION,
        "producer": study.producer,
        "created_at": study.created_at,
        "command": study.command,
        "ground_truth_root": study.ground_truth_root,
        "predictions_root": study.predictions_root,
        "dataset_identifier": study.dataset_identifier,
        "num_context": study.num_context,
        "num_episodes": len(study.episode_ids),
        "failed_episodes": {name: asdict(failure) for name, failure in study.failures.items()},
        "seed": study.seed,
        "severities": list(study.severities),
        "unseen_by_every_metric": list(study.unseen),
        "metrics": {
            name: {
                "metric_id": info.metric_id,
                "unit": info.unit,
                "higher_is_better": info.higher_is_better,
            }
            for name, info in study.metric_infos.items()
        },
        "corruptions": {
            name: {
                "fault": fault,
                "ranking": list(study.ranking(name)),
                "metrics": {
                    metric: {
                        **asdict(study.responses[name][metric]),
                        "unavailable_reason": measured.reason,
                        "episodes": dict(zip(study.episode_ids, measured.values, strict=True)),
                    }
                    for metric, measured in study.measured[name].items()
                },
            }
            for name, fault in study.corruptions.items()
        },
        "environment": dict(study.environment),
        "device": study.device,
        "statistics_path": study.statistics_path,
        "decoder": study.decoder,
        "configuration": dict(study.configuration),
    }
