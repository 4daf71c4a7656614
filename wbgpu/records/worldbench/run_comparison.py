"""Two results into worldbench's ``comparison.json``, and several into our extension of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from wbgpu.records.ranking import Ranking
from wbgpu.records.suite import SCHEMA_VERSION, SuiteResult
from wbgpu.records.worldbench.distances import DISTANCES, distance_payload
from wbgpu.records.worldbench.distributions import coverage_payload
from wbgpu.records.worldbench.extension import EXTENSION

NUM_LARGEST_GAPS = 3


def comparison_payload(
    ranking: Ranking,
    results: Sequence[SuiteResult] = (),
    labels: Sequence[str] = (),
    *,
    conclusion: str = "",
    dataset_path: str | None = None,
    documents: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document that ``worldbench compare`` would write of two results, and the ranking.

    Args:
        ranking: of all results.
        results: of videos, in the order they were given; worldbench's keys are there for two.
        labels: of ``results``.
        conclusion: who is ahead, in words.
        dataset_path: the folder of the models, or ``None`` where result files were compared.
        documents: the two results as they stand in their files, under ``a`` and ``b``.
    """
    head: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "result_type": "run_comparison",
        "created_at": datetime.now(timezone.utc).isoformat(),
        "source": "result_files" if dataset_path is None else "model_folders",
        "dataset_path": dataset_path,
    }
    block: dict[str, Any] = {"ranking": asdict(ranking)}
    if any(result.distribution_distances for result in results):
        block[DISTANCES] = {
            label: [distance_payload(distance) for distance in result.distribution_distances]
            for label, result in zip(labels, results, strict=True)
        }
    own = {EXTENSION: block}
    if len(results) != 2:
        return head | {"labels": [item.label for item in ranking.ranked]} | own
    (a, b), (label_a, label_b) = results, labels
    metrics = [_metric(name, a, b) for name in sorted({*a.enabled_metrics, *b.enabled_metrics})]
    measured = [metric for metric in metrics if metric["delta"] is not None]
    measured.sort(key=lambda metric: -metric["winner_delta"])
    return (
        head
        | {
            "label_a": label_a,
            "label_b": label_b,
            "delta_direction": "b_minus_a",
            "overall": _overall(a, b, label_a, label_b),
            "metrics": metrics,
            "coverage": {
                "a": coverage_payload(a.summary.coverage),
                "b": coverage_payload(b.summary.coverage),
            },
            "largest_gaps": measured[:NUM_LARGEST_GAPS],
            "conclusion": conclusion,
            "results": dict(documents or {}),
        }
        | own
    )


def _overall(a: SuiteResult, b: SuiteResult, label_a: str, label_b: str) -> dict[str, Any]:
    score_a, score_b = a.summary.score, b.summary.score
    delta = None if score_a is None or score_b is None else score_b - score_a
    winner = loser = "tie"
    if delta:
        winner, loser = (label_b, label_a) if delta > 0 else (label_a, label_b)
    return {
        "label": "Composite Score",
        "score_a": score_a,
        "score_b": score_b,
        "delta": delta,
        "winner": winner,
        "loser": loser,
        "winner_margin": None if delta is None else abs(delta),
    }


def _metric(name: str, a: SuiteResult, b: SuiteResult) -> dict[str, Any]:
    score_a, score_b = (_mean(result, name) for result in (a, b))
    delta = None if score_a is None or score_b is None else score_b - score_a
    return {
        "name": name,
        "label": name.replace("_", " ").title(),
        "score_a": score_a,
        "score_b": score_b,
        "delta": delta,
        "winner_delta": None if delta is None else abs(delta),
    }


def _mean(result: SuiteResult, name: str) -> float | None:
    summary = result.summary.metrics.get(name)
    return None if summary is None or summary.distribution is None else summary.distribution.mean
