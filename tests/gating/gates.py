"""The whole way from two results to a verdict, as the commands go it."""

from __future__ import annotations

from typing import Any

from wbgpu.aggregate.bootstrap import change_interval
from wbgpu.aggregate.comparison import compare
from wbgpu.gating.policy import decide
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.comparison import Verdict
from wbgpu.records.suite import SuiteResult

ANYTHING: dict[str, Any] = {
    "max_overall_drop": 100.0,
    "max_metric_drop": 100.0,
    "max_horizon_drop": 100.0,
    "min_metric_count": 0,
    "min_composite_improvement": None,
}
"""Thresholds that let everything pass, so that one rule can be tested alone."""


def gate(baseline: SuiteResult, candidate: SuiteResult, **settings: Any) -> Verdict:
    limits = Thresholds(**settings)
    comparison = compare(baseline, candidate, strict=limits.strict_config_match)
    interval = change_interval(
        comparison,
        num_samples=limits.bootstrap_samples,
        seed=limits.bootstrap_seed,
        level=limits.confidence_level,
    )
    return decide(comparison, limits, interval)


def kinds(verdict: Verdict) -> list[str]:
    return [failure.kind for failure in verdict.failures]
