"""How the composite was configured, as worldbench's results state it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wbgpu.records.comparison import GATE_DEFAULTS
from wbgpu.records.profile import COMPOSITE_METRICS, DEFAULT_WEIGHTS
from wbgpu.records.suite import ResultType, SuiteResult

COMPATIBLE_VERSION = "0.4.1"
"""The worldbench release whose files and rules ours follow; written as ``worldbench_version``.
Who made a file stands in ``wbgpu.producer``."""


def check_type(result: SuiteResult, expected: ResultType) -> None:
    """Refuse to write a result as what it is not."""
    if result.result_type != expected:
        raise ValueError(f"result: expected type {expected!r}, got {result.result_type!r}")


def composite_settings(result: SuiteResult) -> dict[str, Any]:
    """Names, weights and hash of the composite."""
    return {
        "enabled_metrics": list(result.enabled_metrics),
        "required_metrics": list(result.required_metrics),
        "configured_weights": dict(result.configured_weights),
        "effective_normalized_weights": dict(result.summary.coverage.effective_normalized_weights),
        "configuration_hash": result.configuration_hash,
    }


def configuration(
    result: SuiteResult, gate: Mapping[str, Any] | None, outputs: tuple[str, str]
) -> dict[str, Any]:
    """Settings of all five metrics, of the gate, and of worldbench's two outputs."""
    return {
        "metrics": {
            name: {
                "enabled": name in result.enabled_metrics,
                "required": name in result.required_metrics,
                "weight": result.configured_weights.get(name, DEFAULT_WEIGHTS[name]),
            }
            for name in COMPOSITE_METRICS
        },
        "gate": {**GATE_DEFAULTS, **(gate or {})},
        "output": dict.fromkeys(outputs, True),
    }
