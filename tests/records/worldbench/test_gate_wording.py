from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from worldbench.runners.regression import build_gate_comparison

from tests.records.golden import load
from wbgpu.errors import IncompatibleResultsError
from wbgpu.records.worldbench import gate_payload, parse_result
from wbgpu.sdk import gate

OTHER_SETTINGS = {
    "configuration_hash": "ff",
    "enabled_metrics": ["visual_similarity", "temporal_stability"],
    "configured_weights": {"visual_similarity": 1.0, "temporal_stability": 1.0},
}
OTHER_CONTEXT = {"skip_context": 3, "configuration": {"skip_context": 3}}
OLD = {"schema_version": "1", "configuration_hash": None, "dataset_identifier": None}


@pytest.fixture(scope="module")
def batch(shared: Path) -> dict[str, Any]:
    document: dict[str, Any] = load(shared / "golden/raw/batch_pypi_baseline_skip0.json.gz")
    return document


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "changes", [OTHER_SETTINGS, OLD, {"schema_version": "1"}, OTHER_CONTEXT], ids=str
)
def test_warnings_and_details_are_worldbenchs_to_the_letter(
    batch: dict[str, Any], changes: dict[str, Any], strict: bool
) -> None:
    """P44 to P47. Held against the function that writes its gate.json."""
    other = {**batch, **changes}
    ours = parse_result(batch, "one.json"), parse_result(other, "other.json")
    if strict and "skip_context" in changes:
        with pytest.raises(ValueError, match="0 vs 3"):
            build_gate_comparison(batch, other)
        with pytest.raises(IncompatibleResultsError, match="after 0 context frames"):
            gate(*ours)
        return
    theirs = build_gate_comparison(batch, other, strict_config_match=strict)
    found = gate_payload(gate(*ours, strict_config_match=strict))
    assert found["warnings"] == theirs["warnings"]
    assert found["failure_reasons"] == theirs["failure_reasons"]
    assert theirs["warnings"] or theirs["failure_reasons"]


def test_other_horizons_and_counts_are_worldbenchs_to_the_letter(batch: dict[str, Any]) -> None:
    """P48."""
    horizon = {key: value for key, value in batch["horizon"].items() if key in ("t+1", "t+2")}
    temporal = batch["aggregate"]["metrics"]["temporal_stability"]
    metrics = {
        **batch["aggregate"]["metrics"],
        "temporal_stability": temporal | {"available_count": 3},
    }
    other = {**batch, "horizon": horizon, "aggregate": {**batch["aggregate"], "metrics": metrics}}
    theirs = build_gate_comparison(batch, other)["failure_reasons"]
    found = gate_payload(gate(parse_result(batch, "one.json"), parse_result(other, "other.json")))
    assert found["failure_reasons"] == theirs
    assert len(theirs[0]["details"]) == 2
