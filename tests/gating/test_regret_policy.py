"""The gate on regret: each rule where it bites, and the verdict."""

from __future__ import annotations

import math

import pytest

from tests.records.regret_results import regret_result
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.errors import ConfigurationError
from wbgpu.gating.regret_policy import REGRET_TOLERANCE, RegretThresholds, decide_regret

SEEDS = tuple(range(8))


def verdict(before, after, num_steps=12, **thresholds):
    results = [regret_result(c, seeds=SEEDS, num_steps=num_steps) for c in (before, after)]
    return decide_regret(compare_regret(*results), RegretThresholds(**thresholds))


def kinds(verdict):
    return [failure.kind for failure in verdict.failures]


def test_nothing_changed_is_a_pass():
    """The same contestant again must not fail by rounding."""
    for contestant in ("kt", "tempered", "oracle"):
        assert verdict(contestant, contestant).status == "PASS"


def test_less_regret_is_a_pass_and_more_is_a_fail():
    assert verdict("mixed", "oracle").status == "PASS"
    worse = verdict("oracle", "mixed")
    assert worse.status == "FAIL"
    assert kinds(worse) == ["regret", "horizon_regret"]


def test_the_allowed_increase_is_allowed_with_the_tolerance_and_no_more():
    increase = verdict("oracle", "mixed").comparison.expected.change
    for allowed, broken in (
        (increase, []),
        (increase - 0.5 * REGRET_TOLERANCE, []),
        (increase - 2 * REGRET_TOLERANCE, ["regret"]),
        (increase / 2, ["regret"]),
    ):
        limits = {"max_regret_increase": allowed, "max_horizon_regret_increase": 100.0}
        assert kinds(verdict("oracle", "mixed", **limits)) == broken


def test_an_increase_at_early_horizons_alone_is_found():
    """Kt starts worse than a mixture with the truth and would end better than nothing else."""
    first = verdict("mixed", "kt", max_regret_increase=100.0)
    assert kinds(first) == ["horizon_regret"]
    evidence = first.failures[0].evidence
    horizons = first.comparison.horizons
    worst = max(horizons, key=lambda h: h.change)
    assert evidence["horizon"] == worst.horizon
    assert evidence["change"] == worst.change
    assert evidence["num_horizons"] == sum(h.change > REGRET_TOLERANCE for h in horizons)
    assert evidence["first_horizon"] == 1


def test_the_gate_decides_on_expected_regret():
    """The realised one may have gone the other way by chance."""
    outcome = verdict("oracle", "tempered")
    assert outcome.comparison.expected.change > 0
    assert outcome.failures[0].evidence["change"] == outcome.comparison.expected.change


@pytest.mark.parametrize("before", ["oracle", "reckless"])
def test_an_infinite_loss_fails_whatever_is_allowed(before):
    limits = {"max_regret_increase": 1e9, "max_horizon_regret_increase": 1e9}
    outcome = verdict(before, "reckless", 60, **limits)
    assert kinds(outcome) == ["infinite_loss"]
    assert outcome.failures[0].evidence["num_infinite"] > 0


def test_what_was_ruled_out_and_did_not_happen_by_luck_fails_as_well():
    """On other seeds it would have happened."""
    results = (regret_result("reckless", seeds=(seed,), num_steps=1) for seed in range(50))
    lucky = next(result for result in results if result.totals.num_infinite == 0)
    before = regret_result("oracle", seeds=lucky.seeds, num_steps=1)
    outcome = decide_regret(compare_regret(before, lucky), RegretThresholds())
    assert kinds(outcome) == ["infinite_loss"]
    assert outcome.failures[0].evidence["num_infinite_expected"] == 1


def test_a_baseline_that_lost_infinitely_is_named():
    outcome = verdict("reckless", "mixed", 60)
    assert outcome.status == "PASS"
    assert "baseline's expected regret is infinite" in outcome.warnings[0]


def test_one_episode_is_named():
    results = [regret_result(c, seeds=(7,)) for c in ("mixed", "oracle")]
    outcome = decide_regret(compare_regret(*results), RegretThresholds())
    assert "One episode" in outcome.warnings[0]


@pytest.mark.parametrize("name", ["max_regret_increase", "max_horizon_regret_increase"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, True, "0"])
def test_a_limit_that_is_none_is_refused_by_name(name, value):
    with pytest.raises(ConfigurationError, match=name):
        RegretThresholds(**{name: value})


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan, 95])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ConfigurationError, match="confidence_level"):
        RegretThresholds(confidence_level=level)
