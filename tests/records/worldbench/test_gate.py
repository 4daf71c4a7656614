from __future__ import annotations

import pytest

from tests.gating.gates import ANYTHING
from tests.records.golden import plain_json
from tests.records.results import available, episode, failed, simple_suite, suite
from wbgpu.aggregate.detectable_effect import detectable_effect_in_errors
from wbgpu.records.worldbench import gate_payload
from wbgpu.sdk import gate

BASELINE = simple_suite({"a": [50.0, 40.0], "b": [60.0, 60.0]})


def test_p41_a_failing_horizon_is_named_by_its_label() -> None:
    """Records count horizons as integers, worldbench's files write t+2."""
    worse = simple_suite({"a": [50.0, 30.0], "b": [60.0, 60.0]})
    payload = plain_json(gate_payload(gate(BASELINE, worse, **{**ANYTHING, "max_horizon_drop": 0})))
    assert payload["status"] == "FAIL"
    assert payload["passed"] is False
    assert payload["failure_reasons"] == [
        {
            "kind": "horizon",
            "horizon": "t+2",
            "metric": "visual_similarity",
            "baseline": 50.0,
            "candidate": 45.0,
            "change": -5.0,
            "allowed_drop": 0.0,
        }
    ]


def test_failed_episodes_and_missing_scores_make_strict_json() -> None:
    """A missing score is null; NaN would make a file that no strict reader takes."""
    nothing = suite([failed("a"), failed("b", "gone")])
    payload = plain_json(gate_payload(gate(BASELINE, nothing, strict_config_match=False)))
    assert payload["candidate"] == {
        "checkpoint_name": "step00900",
        "score": None,
        "episode_count": 2,
    }
    assert payload["overall"]["change"] is None
    assert payload["wbgpu"]["failed_episodes"]["candidate"][1]["message"] == "gone"
    assert {f["kind"] for f in payload["failure_reasons"]} >= {"episode_error", "no_score"}


def test_other_metrics_and_step_views_stand_in_the_extension() -> None:
    """Beside worldbench's rows, readers of its format would take dB for points."""
    psnr = available("psnr", [30.0, 25.0], step=(30.0, 20.0))
    batch = suite([episode("a", [available("visual_similarity", [60.0, 50.0]), psnr])])
    payload = plain_json(gate_payload(gate(batch, batch)))
    assert [row["metric"] for row in payload["metrics"]] == ["visual_similarity"]
    assert [row["metric"] for row in payload["wbgpu"]["metrics"]] == ["psnr"]
    assert [(r["horizon"], r["view"], r["baseline"]) for r in payload["wbgpu"]["horizon"]] == [
        ("t+1", "prefix", 30.0),
        ("t+1", "step", 30.0),
        ("t+2", "prefix", 25.0),
        ("t+2", "step", 20.0),
    ]


def test_the_minimum_detectable_effect_is_recorded() -> None:
    """A threshold far below it cannot be told from noise."""
    worse = simple_suite({"a": [50.0, 30.0], "b": [60.0, 60.0]})
    payload = plain_json(gate_payload(gate(BASELINE, worse)))
    assert payload["wbgpu"]["minimum_detectable_effect"] == pytest.approx(
        detectable_effect_in_errors(2) * 5.0
    )


def test_p52_uncertainty_is_null_unless_asked_for() -> None:
    """An interval that nobody asked for looks like a finding."""
    assert gate_payload(gate(BASELINE, BASELINE))["uncertainty"] is None
    asked = gate_payload(gate(BASELINE, BASELINE, bootstrap_samples=20))["uncertainty"]
    assert asked["small_sample_warning"] is True
    assert asked["confidence_interval"] == [0.0, 0.0]


def test_the_file_that_supplied_thresholds_is_named() -> None:
    """A file in the working folder can turn a FAIL into a PASS."""
    verdict = gate(BASELINE, BASELINE)
    assert gate_payload(verdict, "conf/wbgpu.yml")["wbgpu"]["configuration_file"] == (
        "conf/wbgpu.yml"
    )
    assert gate_payload(verdict)["wbgpu"]["configuration_file"] is None
