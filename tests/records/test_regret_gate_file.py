from __future__ import annotations

import json

import pytest

from tests.records.regret_results import regret_result
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.gating.regret_policy import RegretThresholds, decide_regret
from wbgpu.records.regret_gate_file import regret_gate_payload
from wbgpu.records.strict_json import to_text


def payload(before, after, **thresholds):
    results = [regret_result(c, num_steps=60) for c in (before, after)]
    verdict = decide_regret(compare_regret(*results), RegretThresholds(**thresholds))
    return json.loads(to_text(regret_gate_payload(verdict)))


def test_says_verdict_reasons_limits_and_changes():
    """A pipeline reads these keys, and must be able to tell what was allowed."""
    document = payload("oracle", "mixed", max_regret_increase=0.001)
    assert document["result_type"] == "regret_gate"
    assert (document["status"], document["passed"]) == ("FAIL", False)
    assert document["thresholds"]["max_regret_increase"] == 0.001
    assert document["tolerance"] == 1e-6
    expected = document["expected_regret"]
    assert expected["change"] == pytest.approx(expected["candidate"] - expected["baseline"])
    assert expected["interval"]["lower"] < expected["change"] < expected["interval"]["upper"]
    first, second = document["failure_reasons"]
    assert (first["kind"], second["kind"]) == ("regret", "horizon_regret")
    assert first["change"] == expected["change"]
    assert len(document["horizons"]) == document["num_steps"] == 60


def test_what_is_infinite_is_null():
    document = payload("oracle", "reckless")
    assert document["expected_regret"]["candidate"] is None
    assert document["expected_regret"]["change"] is None
    assert document["candidate"]["num_infinite"] > 0
    assert document["failure_reasons"][0]["kind"] == "infinite_loss"
