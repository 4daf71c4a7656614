"""A verdict on regret as strict JSON. What is infinite is ``null``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from wbgpu.records.comparison import Failure
from wbgpu.records.created_at import created_at
from wbgpu.records.evidence_payload import evidence_payload
from wbgpu.records.regret import RegretResult
from wbgpu.records.regret_comparison import RegretComparison, RegretVerdict
from wbgpu.records.strict_json import Line

REGRET_GATE_SCHEMA_VERSION = "1"


def regret_gate_payload(verdict: RegretVerdict) -> dict[str, Any]:
    """The document of a verdict; all numbers of regret are nats per step."""
    comparison = verdict.comparison
    return {
        "result_type": "regret_gate",
        "schema_version": REGRET_GATE_SCHEMA_VERSION,
        "created_at": created_at(),
        "status": verdict.status,
        "passed": verdict.status == "PASS",
        "policy": verdict.policy,
        "thresholds": dict(verdict.thresholds),
        "tolerance": verdict.tolerance,
        **regret_change_payload(comparison),
        "per_variable": {
            name: _plain(asdict(change)) for name, change in comparison.per_variable.items()
        },
        "horizons": [Line(_plain(asdict(horizon))) for horizon in comparison.horizons],
        "warnings": list(verdict.warnings),
        "failure_reasons": _reasons(verdict.failures),
        "undecided": _reasons(verdict.undecided),
        "evidence": evidence_payload(verdict.evidence),
    }


def regret_change_payload(comparison: RegretComparison) -> dict[str, Any]:
    """World, sides and the change of the whole, in nats per step."""
    return {
        "world": {
            "name": comparison.baseline.world,
            "sha256": comparison.baseline.world_sha256,
        },
        "num_seeds": len(comparison.baseline.episodes),
        "num_steps": comparison.baseline.num_steps,
        "baseline": _side(comparison.baseline),
        "candidate": _side(comparison.candidate),
        "expected_regret": _plain(asdict(comparison.expected)),
        "regret": _plain(asdict(comparison.realised)),
        "minimum_detectable_effect": comparison.minimum_detectable_effect,
    }


def _reasons(failures: Sequence[Failure]) -> list[dict[str, Any]]:
    return [{"kind": failure.kind, **_plain(dict(failure.evidence))} for failure in failures]


def _side(result: RegretResult) -> dict[str, Any]:
    return {
        "contestant": result.contestant,
        "created_at": result.created_at,
        "num_infinite": result.totals.num_infinite,
        "num_infinite_expected": result.totals.num_infinite_expected,
    }


def _plain(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items()}
    return None if isinstance(node, float) and math.isinf(node) else node
