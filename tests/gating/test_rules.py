from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.gating.gates import ANYTHING, kinds
from tests.records.results import available, episode, failed, simple_suite, suite, unsupported
from wbgpu.records.suite import SuiteResult
from wbgpu.sdk import gate

BASELINE = simple_suite({"a": [60.0, 50.0], "b": [80.0, 70.0]})


def _two_metrics(temporal_available: bool, **fields: Any) -> SuiteResult:
    temporal = (
        available("temporal_stability", [50.0])
        if temporal_available
        else unsupported("temporal_stability", "one frame")
    )
    return suite([episode("a", [available("visual_similarity", [50.0]), temporal], 1)], **fields)


def test_everything_passes_without_limits() -> None:
    """Else the tests below, which tighten one limit, would prove nothing."""
    worse = simple_suite({"a": [1.0, 1.0], "b": [1.0, 1.0]})
    assert gate(BASELINE, worse, **ANYTHING).status == "PASS"


def test_p40_a_better_candidate_passes_by_default() -> None:
    """A gate that stops progress is switched off."""
    better = simple_suite({"a": [61.0, 51.0], "b": [80.0, 70.0]})
    verdict = gate(BASELINE, better)
    assert verdict.status == "PASS"
    assert verdict.failures == ()


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        ({"max_overall_drop": 1.0}, "overall"),
        ({"max_metric_drop": 1.0}, "metric"),
        ({"max_horizon_drop": 4.0}, "horizon"),
        ({"max_episode_regressions": 0}, "episode_regressions"),
        ({"min_composite_improvement": -1.0}, "composite_improvement"),
    ],
)
def test_p42_p50_each_kind_can_be_the_only_failure(limit: dict[str, Any], kind: str) -> None:
    """A rule that fires with another hides that the other is missing."""
    worse = simple_suite({"a": [50.0, 40.0], "b": [80.0, 70.0]})
    assert set(kinds(gate(BASELINE, worse, **{**ANYTHING, **limit}))) == {kind}


@pytest.mark.parametrize(
    ("drop", "allowed", "status"),
    [
        (0.01, 0.0, "PASS"),
        (0.0101, 0.0, "FAIL"),
        (2.01, 2.0, "PASS"),
        (2.0101, 2.0, "FAIL"),
        (-5.0, 0.0, "PASS"),
    ],
)
def test_o13_a_drop_within_the_tolerance_passes(drop: float, allowed: float, status: str) -> None:
    """Floats that differ in the last bit must not fail, and 0.0101 points must."""
    baseline = simple_suite({"a": [50.0]})
    candidate = simple_suite({"a": [50.0 - drop]})
    for limit in ("max_overall_drop", "max_metric_drop", "max_horizon_drop"):
        verdict = gate(baseline, candidate, **{**ANYTHING, limit: allowed})
        assert verdict.status == status, limit


def test_o13_an_improvement_within_the_tolerance_passes() -> None:
    """As for drops, on the other side."""
    baseline, candidate = simple_suite({"a": [50.0]}), simple_suite({"a": [51.0]})
    for required, status in ((1.01, "PASS"), (1.0101, "FAIL"), (-3.0, "PASS")):
        limits = {**ANYTHING, "min_composite_improvement": required}
        assert gate(baseline, candidate, **limits).status == status


def test_p43_a_metric_that_disappears_fails_and_a_required_one_twice() -> None:
    """What is not measured cannot drop, so every other rule would pass."""
    before, after = _two_metrics(True), _two_metrics(False)
    loose = {**ANYTHING, "strict_config_match": False}
    assert kinds(gate(before, after, **loose)) == ["metric_disappeared"]
    assert kinds(gate(before, after, **loose, required_metrics=("temporal_stability",))) == [
        "metric_disappeared",
        "required_metric",
    ]


def test_o15_requirements_of_the_results_themselves_always_count() -> None:
    """Flags add to them and must not replace them."""
    required = _two_metrics(False, required_metrics=("temporal_stability",))
    verdict = gate(required, required, **ANYTHING, required_metrics=("visual_similarity",))
    assert [dict(f.evidence) for f in verdict.failures] == [{"metrics": ["temporal_stability"]}]


def test_a_native_metric_that_was_measured_on_no_episode_does_not_pass() -> None:
    """It has no part in the composite, so nothing else would show it."""
    visual = available("visual_similarity", [50.0])
    before = suite([episode("a", [visual, available("psnr", [30.0])], 1)])
    after = suite([episode("a", [visual, unsupported("psnr", metric_id="psnr/1")], 1)])
    assert kinds(gate(before, after)) == ["metric_disappeared"]
    assert kinds(gate(after, after, required_metrics=("psnr",))) == ["required_metric"]


def test_a_native_metric_that_a_file_of_worldbench_lacks_is_no_loss() -> None:
    """A baseline of ours must be comparable with a candidate scored by worldbench."""
    visual = available("visual_similarity", [50.0])
    before = suite([episode("a", [visual, available("psnr", [30.0])], 1)])
    after = replace(suite([episode("a", [visual], 1)]), protocol=None)
    assert gate(before, after).status == "PASS"


def test_a_metric_that_the_candidate_left_out_fails_strictly() -> None:
    """Worse tokens would pass by being evaluated without them."""
    visual, tokens = available("visual_similarity", [50.0]), available("log_loss", [4.0])
    both, pixels = suite([episode("a", [visual, tokens], 1)]), suite([episode("a", [visual], 1)])
    (failure,) = gate(both, pixels).failures
    assert failure.kind == "configuration_mismatch"
    assert failure.evidence == {"details": ["metrics measured in the baseline only: log_loss"]}
    assert gate(both, pixels, strict_config_match=False).status == "PASS"
    assert gate(pixels, both).status == "PASS"


def test_p44_p45_differing_settings_fail_strictly_and_warn_otherwise() -> None:
    """Other weights move the composite without any change of the model."""
    other = replace(
        BASELINE, configured_weights={"visual_similarity": 1.0}, configuration_hash="ff"
    )
    strict = gate(BASELINE, other)
    assert [(f.kind, f.evidence) for f in strict.failures] == [
        (
            "configuration_mismatch",
            {
                "details": [
                    "configured metric weights differ",
                    "configuration hashes differ",
                ]
            },
        )
    ]
    loose = gate(BASELINE, other, strict_config_match=False)
    assert loose.status == "PASS"
    assert loose.warnings == (
        "Configuration warning: configured metric weights differ.",
        "Configuration warning: configuration hashes differ.",
    )


def test_p51_minima_of_coverage() -> None:
    """One metric out of five can look perfect."""
    limits = {
        "min_metric_count": 2,
        "min_metric_coverage": 0.21,
        "min_configured_weight_coverage": 0.26,
    }
    verdict = gate(BASELINE, BASELINE, **limits)
    assert [(f.kind, f.evidence["actual"], f.evidence["minimum"]) for f in verdict.failures] == [
        ("metric_count", 1, 2),
        ("metric_coverage", 0.2, 0.21),
        ("configured_weight_coverage", 0.25, 0.26),
    ]


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_a_result_with_a_failed_episode_never_passes(side: str) -> None:
    """The episode that broke may be the one that got worse."""
    partial = suite([BASELINE.episodes[0], failed("b")])
    pair = (partial, BASELINE) if side == "baseline" else (BASELINE, partial)
    verdict = gate(*pair, **ANYTHING, strict_config_match=False)
    assert [(f.kind, f.evidence) for f in verdict.failures] == [
        ("episode_error", {"result": side, "episodes": ["b"]})
    ]


def test_results_without_any_composite_never_pass() -> None:
    """Nothing against nothing is no change, and no change passes."""
    psnr = suite([episode("a", [available("psnr", [30.0])], 1)])
    verdict = gate(psnr, psnr, **ANYTHING)
    assert [(f.kind, f.evidence) for f in verdict.failures] == [
        ("no_score", {"results": ["baseline", "candidate"]})
    ]
    assert "metric_count" in kinds(gate(psnr, psnr))


def test_an_episode_that_lost_its_composite_does_not_pass() -> None:
    """The means are then over different episodes: 60 against 70 looks like progress."""
    without = episode("b", [available("psnr", [30.0])], 1)
    before = simple_suite({"a": [70.0], "b": [50.0]})
    after = suite([before.episodes[0], without])
    verdict = gate(before, after, **ANYTHING, strict_config_match=False)
    assert [(f.kind, f.evidence) for f in verdict.failures] == [
        ("no_score", {"result": "candidate", "episodes": ["b"]})
    ]
    both = gate(after, after, **ANYTHING)
    assert both.status == "PASS", "missing on both sides leaves the pairs comparable"


@pytest.mark.parametrize("side", ["baseline", "candidate"])
@pytest.mark.parametrize("metric", ["temporal_stability", "psnr"])
def test_a_metric_that_broke_never_passes(side: str, metric: str) -> None:
    """Left out of the mean, the episode that broke a metric makes the mean look better."""
    broken = unsupported(metric, "division", status="error", error_type="ZeroDivisionError")
    visual = available("visual_similarity", [50.0])
    whole = suite([episode(i, [visual, available(metric, [50.0])], 1) for i in "ab"])
    partial = suite([whole.episodes[0], episode("b", [visual, broken], 1)])
    pair = (partial, whole) if side == "baseline" else (whole, partial)
    verdict = gate(*pair, **ANYTHING, strict_config_match=False)
    assert [(f.kind, f.evidence) for f in verdict.failures] == [
        ("metric_error", {"result": side, "metrics": [metric], "episodes": ["b"]})
    ]
    assert verdict.status == "FAIL"


def test_a_metric_that_does_not_apply_is_no_error() -> None:
    """Else no suite without robot signals would ever pass."""
    assert gate(BASELINE, BASELINE, **ANYTHING).status == "PASS"
