"""Verdicts in tests."""

from __future__ import annotations

from typing import Any

from wbgpu.records.comparison import Verdict

ANYTHING: dict[str, Any] = {
    "max_overall_drop": 100.0,
    "max_metric_drop": 100.0,
    "max_horizon_drop": 100.0,
    "min_metric_count": 0,
    "min_composite_improvement": None,
}
"""Thresholds that let everything pass, so that one rule can be tested alone."""


def kinds(verdict: Verdict) -> list[str]:
    return [failure.kind for failure in verdict.failures]
