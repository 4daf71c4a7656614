"""Evidence as it stands in gate results: strict JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from wbgpu.records.evidence import Evidence, HorizonTest
from wbgpu.records.strict_json import Line


def evidence_payload(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    """One object for each number that was held against a margin."""
    return [
        asdict(item) | {"is_beyond": item.is_beyond, "is_within": item.is_within}
        for item in evidence
    ]


def horizon_tests_payload(tests: Sequence[HorizonTest]) -> list[Line]:
    """One line for each test."""
    return [Line(asdict(test)) for test in tests]
