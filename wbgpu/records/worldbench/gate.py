"""A verdict into worldbench's ``gate.json``, and our extension of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wbgpu.records.comparison import (
    SMALL_SAMPLE,
    UNCHANGED_TOLERANCE,
    Comparison,
    EpisodeChange,
    Failure,
    HorizonChange,
    Interval,
    MetricChange,
    Verdict,
)
from wbgpu.records.created_at import created_at
from wbgpu.records.evidence_payload import evidence_payload, horizon_tests_payload
from wbgpu.records.regret_gate_file import regret_change_payload
from wbgpu.records.suite import SCHEMA_VERSION, SuiteResult
from wbgpu.records.worldbench.distances import DISTANCES, distance_payload
from wbgpu.records.worldbench.distributions import coverage_payload
from wbgpu.records.worldbench.extension import EXTENSION
from wbgpu.records.worldbench.horizons import horizon_label
from wbgpu.records.worldbench.metric_entries import plain
from wbgpu.records.worldbench.settings import COMPATIBLE_VERSION


def gate_payload(verdict: Verdict, configuration_file: str | None = None) -> dict[str, Any]:
    """The document that ``worldbench gate`` would write, and what only ours has.

    Args:
        verdict: what the gate said.
        configuration_file: the wbgpu.yml or worldbench.yml that supplied thresholds, if any.
    """
    comparison = verdict.comparison
    overall = comparison.overall
    return {
        "schema_version": SCHEMA_VERSION,
        "result_type": "gate_comparison",
        "worldbench_version": COMPATIBLE_VERSION,
        "created_at": created_at(),
        "status": verdict.status,
        "passed": verdict.status == "PASS",
        "baseline": _side(comparison.baseline),
        "candidate": _side(comparison.candidate),
        "thresholds": plain(dict(verdict.thresholds))
        | {"unchanged_tolerance": UNCHANGED_TOLERANCE},
        "overall": {
            "baseline": comparison.baseline.summary.score,
            "candidate": comparison.candidate.summary.score,
            "change": None if overall is None else overall.change,
        },
        "metrics": [_metric(change) for change in comparison.composite_metrics],
        "horizon": [_horizon(change) for change in comparison.composite_horizons],
        "episodes": _episodes(comparison),
        "uncertainty": None if verdict.interval is None else _uncertainty(verdict.interval),
        "coverage": coverage_payload(comparison.candidate.summary.coverage),
        "warnings": list(verdict.warnings),
        "failure_reasons": [failure_payload(failure) for failure in verdict.failures],
        EXTENSION: {
            "policy": verdict.policy,
            "configuration_file": configuration_file,
            "baseline_producer": comparison.baseline.producer,
            "candidate_producer": comparison.candidate.producer,
            "remarks": list(comparison.remarks),
            "minimum_detectable_effect": comparison.minimum_detectable_effect,
            "metrics": [_metric(change) for change in comparison.other_metrics],
            "horizon": [
                _horizon(change) | {"view": change.view} for change in comparison.other_horizons
            ],
            "failed_episodes": {
                "baseline": _failed(comparison.baseline),
                "candidate": _failed(comparison.candidate),
            },
            **_weighed(verdict),
            **_distances(comparison),
        },
    }


def failure_payload(failure: Failure) -> dict[str, Any]:
    """One broken rule, flat, with the horizon under its label."""
    evidence: Mapping[str, Any] = failure.evidence
    if "horizon" in evidence:
        evidence = {**evidence, "horizon": horizon_label(evidence["horizon"])}
    return {"kind": failure.kind, **plain(dict(evidence))}


def _distances(comparison: Comparison) -> dict[str, Any]:
    sides = {
        side: [distance_payload(distance) for distance in result.distribution_distances]
        for side, result in (
            ("baseline", comparison.baseline),
            ("candidate", comparison.candidate),
        )
    }
    return {DISTANCES: sides} if any(sides.values()) else {}


def _weighed(verdict: Verdict) -> dict[str, Any]:
    """What only policies that weigh evidence have to say."""
    if not verdict.evidence and not verdict.undecided:
        return {}
    return {
        "undecided": [failure_payload(failure) for failure in verdict.undecided],
        "evidence": evidence_payload(verdict.evidence),
        "horizon_tests": horizon_tests_payload(verdict.horizon_tests),
        "regret": None if verdict.regret is None else regret_change_payload(verdict.regret),
    }


def _side(result: SuiteResult) -> dict[str, Any]:
    return {
        "checkpoint_name": result.checkpoint_name,
        "score": result.summary.score,
        "episode_count": len(result.episodes),
    }


def _metric(change: MetricChange) -> dict[str, Any]:
    return {
        "metric": change.metric,
        "baseline": change.baseline,
        "candidate": change.candidate,
        "change": change.change,
        "available_count_baseline": change.baseline_count,
        "available_count_candidate": change.candidate_count,
    }


def _horizon(change: HorizonChange) -> dict[str, Any]:
    return {
        "horizon": horizon_label(change.horizon),
        "metric": change.metric,
        "baseline": change.baseline,
        "candidate": change.candidate,
        "change": change.change,
        "baseline_count": change.baseline_count,
        "candidate_count": change.candidate_count,
    }


def _episodes(comparison: Comparison) -> dict[str, Any]:
    return {
        "improved_count": len(comparison.improved),
        "regressed_count": len(comparison.regressed),
        "unchanged_count": comparison.num_unchanged,
        "deltas": _listed(comparison.episodes),
        "worst_regressions": _listed(comparison.worst_changes),
        "best_improvements": _listed(comparison.best_changes),
    }


def _listed(changes: Sequence[EpisodeChange]) -> list[dict[str, Any]]:
    return [asdict(change) for change in changes]


def _uncertainty(interval: Interval) -> dict[str, Any]:
    return {
        "method": interval.method,
        "paired_delta_mean": interval.mean,
        "confidence_level": interval.level,
        "confidence_interval": [interval.lower, interval.upper],
        "bootstrap_samples": interval.num_samples,
        "bootstrap_seed": interval.seed,
        "episode_count": interval.num_episodes,
        "small_sample_warning": interval.num_episodes < SMALL_SAMPLE,
        "small_sample_threshold": SMALL_SAMPLE,
    }


def _failed(result: SuiteResult) -> list[dict[str, Any]]:
    return [
        {"episode_id": episode.episode_id, **asdict(episode.failure)}
        for episode in result.failed_episodes
        if episode.failure is not None
    ]
