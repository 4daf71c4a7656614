from __future__ import annotations

from pathlib import Path

import pytest

from tests.gating.gates import ANYTHING, kinds
from tests.records.golden import load, missing_from, plain_json, result
from tests.records.results import simple_suite
from wbgpu.aggregate.comparison import compare
from wbgpu.errors import ConfigurationError
from wbgpu.gating.policy import decide
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.worldbench import gate_payload
from wbgpu.sdk import gate

BASELINE = simple_suite({"a": [50.0], "b": [60.0], "c": [70.0]})
BETTER = simple_suite({"a": [51.0], "b": [61.0], "c": [71.0]})


def test_p52_no_interval_unless_asked_for() -> None:
    """One nobody asked for would take seconds and look like a finding."""
    assert gate(BASELINE, BETTER).interval is None


def test_p53_equal_changes_give_a_point_and_few_episodes_a_warning() -> None:
    """Three episodes make a narrow interval and prove little."""
    verdict = gate(BASELINE, BETTER, bootstrap_samples=50)
    assert verdict.interval is not None
    assert verdict.interval.lower == verdict.interval.upper == 1.0
    assert "small episode count (3)" in verdict.warnings[-1]


def test_p54_a_lower_bound_below_the_requirement_fails() -> None:
    """The bound, and not the mean, is held against the requirement."""
    limits = {**ANYTHING, "bootstrap_samples": 50}
    assert kinds(gate(BASELINE, BETTER, **limits, min_confidence_lower_bound=1.5)) == [
        "confidence_lower_bound"
    ]
    assert gate(BASELINE, BETTER, **limits, min_confidence_lower_bound=0.5).status == "PASS"


def test_an_interval_that_was_asked_for_cannot_be_forgotten() -> None:
    """Otherwise min_confidence_lower_bound would silently not be checked."""
    with pytest.raises(ConfigurationError, match="pass interval="):
        decide(compare(BASELINE, BETTER), Thresholds(bootstrap_samples=10))


def test_failures_stand_in_worldbenchs_order() -> None:
    """The first reason is what people read."""
    worse = simple_suite({"a": [40.0], "b": [50.0], "c": [60.0]})
    verdict = gate(BASELINE, worse, max_episode_regressions=0, min_metric_count=2)
    assert kinds(verdict) == [
        "metric_count",
        "overall",
        "metric",
        "horizon",
        "episode_regressions",
        "composite_improvement",
    ]
    assert verdict.status == "FAIL"


def test_p47_published_checkpoints_pass_with_the_recorded_payload(shared: Path) -> None:
    """Real schema-1 files without hash or dataset identity."""
    folder = shared / "data/worldbench_artifacts/checkpoint_validation"
    pair = [result(folder / f"{side}_batch_result.json") for side in ("baseline", "candidate")]
    verdict = gate(*pair)
    wanted = load(shared / "golden/expected/gate_flagship_default.json")
    assert "predates schema v2" in verdict.warnings[0]
    _assert_payload(gate_payload(verdict), wanted)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("strict", {}),
        ("engineering", {"max_overall_drop": 2.0, "max_metric_drop": 5.0, "max_horizon_drop": 5.0}),
    ],
)
def test_their_recorded_gates_are_reproduced(
    shared: Path, name: str, limits: dict[str, float]
) -> None:
    """worldbench's published verdicts, field by field."""
    folder = shared / "data/worldbench_artifacts/checkpoint_validation"
    pair = [result(folder / f"{side}_batch_result.json") for side in ("baseline", "candidate")]
    wanted = load(folder / f"{name}_gate_result.json")
    assert wanted.pop("schema_version") == "1"
    _assert_payload(gate_payload(gate(*pair, **limits)), wanted)


def test_p58_the_recorded_fixture_gate_is_reproduced(shared: Path) -> None:
    """With the thresholds that the file itself states."""
    folder = shared / "data/worldbench_artifacts/fixtures_v0_4_1"
    pair = [result(folder / f"batch/{s}_batch_result.json") for s in ("baseline", "candidate")]
    wanted = load(folder / "gate/latest/gate.json")
    limits = dict(wanted["thresholds"])
    del limits["unchanged_tolerance"]
    verdict = gate(*pair, **limits)
    assert verdict.status == "PASS"
    _assert_payload(gate_payload(verdict), wanted)


def _assert_payload(payload: object, wanted: dict[str, object]) -> None:
    wanted.pop("created_at")
    assert list(missing_from(wanted, plain_json(payload))) == []
