"""The policy of margins: each rule where it bites, and the verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.gating.gates import kinds
from tests.records.golden import plain_json
from tests.records.regret_results import regret_result
from tests.records.results import available, episode, failed, simple_suite, suite
from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.gating.noninferiority import Noninferiority
from wbgpu.gating.thresholds import Thresholds
from wbgpu.records.metric import MetricInfo
from wbgpu.records.worldbench import gate_payload
from wbgpu.sdk import gate, gate_regret

NOISE = np.random.default_rng(0).normal(0.0, 0.5, (2, 10))


def _suite(shift=0.0, side=0, late=0.0):
    """Ten episodes of three horizons; ``late`` is added to the last but one."""
    return simple_suite(
        {
            f"e{i}": [60.0 + shift + noise, 60.0 + shift + late + noise, 60.0 + shift + noise]
            for i, noise in enumerate(NOISE[side].tolist())
        }
    )


def verdict(after, **settings):
    return gate(_suite(), after, policy="noninferiority", **settings)


def undecided(outcome):
    return [failure.kind for failure in outcome.undecided]


def test_a_real_drop_fails_an_unchanged_candidate_passes_and_little_is_inconclusive():
    for shift, margin, status in (
        (-5.0, 1.0, "FAIL"),
        (0.0, 1.0, "PASS"),
        (3.0, 0.0, "PASS"),
        (-1.0, 1.0, "INCONCLUSIVE"),
        (0.0, 0.0, "INCONCLUSIVE"),
    ):
        assert verdict(_suite(shift, 1), margin=margin).status == status


def test_the_very_same_result_passes_even_without_a_margin():
    """worldbench's gate passes it; a gate that asks for a margin there would be a nuisance."""
    assert verdict(_suite(), margin=0.0).status == "PASS"


def test_reasons_stand_where_the_status_says():
    """A script that reads failure_reasons must not find any without a FAIL."""
    fails = verdict(_suite(-5.0, 1))
    assert kinds(fails) == ["beyond_margin", "horizon_beyond_margin"]
    assert not fails.undecided
    unclear = verdict(_suite(-1.0, 1))
    assert (kinds(unclear), undecided(unclear)) == ([], ["undecided"])
    assert unclear.undecided[0].evidence["episodes_to_decide"] > 10
    passes = verdict(_suite(0.0, 1))
    assert (passes.failures, passes.undecided) == ((), ())


def test_what_is_not_decided_can_be_a_fail():
    outcome = verdict(_suite(-1.0, 1), fail_inconclusive=True)
    assert (outcome.status, kinds(outcome)) == ("FAIL", ["undecided"])


def test_a_drop_at_one_horizon_alone_fails_and_is_named():
    """The composite at the end does not see it."""
    outcome = verdict(_suite(0.0, 1, late=-6.0), margin=2.0)
    assert kinds(outcome) == ["horizon_beyond_margin"]
    assert outcome.failures[0].evidence["horizons"] == [2]
    assert verdict(_suite(0.0, 1, late=-6.0), margin=2.0, horizon_margin=9.0).status == "PASS"


def test_few_episodes_are_inconclusive_and_never_pass_by_luck():
    """Two episodes that rise are not enough; one has no interval at all."""
    before = simple_suite({"a": [50.0], "b": [60.0]})
    after = simple_suite({"a": [50.1], "b": [61.0]})
    outcome = gate(before, after, policy="noninferiority", margin=0.1)
    assert outcome.status == "INCONCLUSIVE"
    assert "2 independent episodes" in outcome.warnings[0]
    one = [simple_suite({"a": [value]}) for value in (50.0, 60.0)]
    assert gate(*one, policy="noninferiority").status == "INCONCLUSIVE"


FOUR = {f"e{i}": "wxyz"[i % 4] for i in range(10)}
SIX = {f"e{i}": "uvwxyz"[i % 6] for i in range(10)}


def test_horizons_that_cannot_be_tested_are_no_pass_where_they_were_asked_for():
    """Four scenes have no pattern of signs rare enough, so no drop at all would have failed."""
    drops = _suite(0.0, 1, late=-6.0)
    asked = {"margin": 5.0, "horizon_margin": 1.0}
    assert verdict(drops, **asked).status == "FAIL"
    assert verdict(drops, **asked, clusters=SIX).status == "FAIL"
    outcome = verdict(drops, **asked, clusters=FOUR)
    assert (outcome.status, undecided(outcome)) == ("INCONCLUSIVE", ["horizons_not_tested"])
    assert "NOT checked: 4 clusters, 6 needed" in outcome.undecided[0].evidence["reason"]
    assert verdict(drops, **asked, clusters=FOUR, fail_inconclusive=True).status == "FAIL"
    # A real drop of the composite needs no horizons.
    assert verdict(_suite(-9.0, 1), **asked, clusters=FOUR).status == "FAIL"


def test_horizons_that_cannot_be_tested_are_a_loud_warning_else():
    """Nobody asked for them, and four scenes can still clear the composite's margin."""
    outcome = verdict(_suite(0.0, 1), margin=5.0, clusters=FOUR)
    assert outcome.status == "PASS"
    assert "The horizon rule was NOT checked: 4 clusters, 6 needed." in outcome.warnings
    assert not any("horizon rule" in text for text in verdict(_suite(0.0, 1)).warnings)


def test_a_stricter_level_needs_more_units():
    """At 99 % six signs are not rare enough either: 1 / 64 is more than 0.5 %."""
    settings = {"margin": 5.0, "horizon_margin": 1.0, "confidence_level": 0.99}
    outcome = verdict(_suite(0.0, 1, late=-6.0), **settings, clusters=SIX)
    assert outcome.status == "INCONCLUSIVE"
    assert outcome.undecided[-1].evidence["needed_units"] == 8


def test_horizons_that_few_episodes_reach_are_a_warning():
    """The others were tested, so the rule is not off."""
    sides = [
        simple_suite({f"e{i}": [60.0 + n] * (3 if i < 4 else 2) for i, n in enumerate(NOISE[side])})
        for side in (0, 1)
    ]
    outcome = gate(*sides, policy="noninferiority", margin=5.0, horizon_margin=5.0)
    assert outcome.status == "PASS"
    assert "checked in part: 1 of 3" in outcome.warnings[-1]


@pytest.mark.parametrize("policy", ["worldbench", "noninferiority"])
def test_a_result_against_itself_passes_with_a_remark(policy):
    """Most often one of the two is the wrong file; worldbench's own warnings stay as they are."""
    outcome = gate(_suite(), _suite(), policy=policy)
    assert outcome.status == "PASS"
    assert "the same predictions" in outcome.all_warnings[0]
    assert not any("same predictions" in text for text in outcome.warnings)
    assert not gate(_suite(), _suite(0.0, 1), policy=policy).comparison.remarks


def test_regret_against_itself_has_a_warning_too():
    policy = Noninferiority(regret_margin=1.0)
    outcome = gate_regret(_regret("mixed"), _regret("mixed"), policy=policy)
    assert "lost the same" in outcome.warnings[0]
    assert "lost the same" in gate_regret(_regret("mixed"), _regret("mixed")).warnings[0]
    assert not gate_regret(_regret("oracle"), _regret("mixed"), policy=policy).warnings


def test_what_could_not_be_scored_fails_whatever_the_margin():
    before = _suite()
    broken = suite([*before.episodes[:-1], failed(before.episodes[-1].episode_id)])
    assert "episode_error" in kinds(verdict(broken, margin=100.0))


def _with_loss(losses):
    made = suite(
        [
            episode(
                f"e{i}",
                [available("visual_similarity", [60.0]), available("log_loss", [value])],
                1,
            )
            for i, value in enumerate(losses)
        ]
    )
    info = MetricInfo("log_loss", "log_loss/1", "nats per token", higher_is_better=False)
    return replace(made, metric_infos={**made.metric_infos, "log_loss": info})


def test_a_metric_with_a_margin_is_held_against_it():
    """Mixed evidence: the pixels are equal, the log-loss of tokens is not."""
    before, after = (_with_loss((2.0 + shift + NOISE[0]).tolist()) for shift in (0.0, 0.3))
    how = {"policy": "noninferiority", "margin": 1.0}
    assert gate(before, after, **how).status == "PASS"
    for margin, status in ((0.1, "FAIL"), (0.5, "PASS")):
        outcome = gate(before, after, **how, metric_margins={"log_loss": margin})
        assert outcome.status == status
        assert outcome.evidence[1].sequential is not None


def test_a_margin_of_a_metric_that_no_episode_has_fails():
    """What is asked for and missing is not a pass."""
    outcome = verdict(_suite(0.0, 1), metric_margins={"temporal_stability": 1.0})
    assert "required_metric" in kinds(outcome)


def _regret(contestant, **fields):
    return regret_result(contestant, seeds=tuple(range(8)), **fields)


def test_pixels_and_regret_in_one_verdict():
    regret = {"baseline_regret": _regret("oracle"), "candidate_regret": _regret("mixed")}
    outcome = verdict(_suite(0.0, 1), **regret)
    assert outcome.status == "FAIL"
    assert [(f.kind, f.evidence["name"]) for f in outcome.failures] == [("beyond_margin", "regret")]
    assert verdict(_suite(0.0, 1), **regret, regret_margin=9.0).status == "PASS"
    document = plain_json(gate_payload(outcome))
    assert [item["name"] for item in document["wbgpu"]["evidence"]] == ["composite", "regret"]
    assert document["wbgpu"]["regret"]["world"]["name"] == "spectator"


def test_an_infinite_loss_fails_whatever_is_allowed():
    regret = {
        "baseline_regret": _regret("oracle", num_steps=60),
        "candidate_regret": _regret("reckless", num_steps=60),
    }
    assert kinds(verdict(_suite(0.0, 1), **regret, regret_margin=1e6)) == ["infinite_loss"]


def test_regret_alone():
    for margin, status in ((0.0, "FAIL"), (9.0, "PASS")):
        policy = Noninferiority(regret_margin=margin)
        outcome = gate_regret(_regret("oracle"), _regret("mixed"), policy=policy)
        assert (outcome.status, outcome.policy) == (status, "noninferiority")


def test_clusters_weaken_the_evidence():
    clusters = {f"e{i}": "left" if i < 5 else "right" for i in range(10)}
    outcome = verdict(_suite(0.0, 1), clusters=clusters)
    assert outcome.evidence[0].estimate.num_units == 2
    assert outcome.status == "INCONCLUSIVE"


def test_an_episode_that_could_not_be_scored_needs_a_cluster_too():
    """Whoever lists clusters by hand forgets the broken one, which has no value to weigh."""
    clusters = {f"e{i}": "left" if i < 5 else "right" for i in range(10)}
    sides = [suite([*_suite(0.0, side).episodes, failed("broken")]) for side in (0, 1)]
    with pytest.raises(IncompatibleResultsError, match="1 of 11 episodes have none"):
        gate(*sides, policy="noninferiority", clusters=clusters)


def test_regret_and_clusters_need_a_policy_that_weighs_them():
    """Ignored, they would look as if they had been considered."""
    with pytest.raises(ConfigurationError, match="noninferiority"):
        gate(_suite(), _suite(), clusters={f"e{i}": "a" for i in range(10)})
    with pytest.raises(ConfigurationError, match="or neither"):
        verdict(_suite(), baseline_regret=_regret("oracle"))


@pytest.mark.parametrize(
    "settings",
    [
        {"margin": math.nan},
        {"margin": math.inf},
        {"margin": -1.0},
        {"margin": 1e308},
        {"margin": True},
        {"horizon_margin": "1"},
        {"regret_margin": math.nan},
        {"metric_margins": {"psnr": -1.0}},
        {"metric_margins": [1.0]},
        {"confidence_level": 1.0},
        {"confidence_level": math.nan},
        {"interval": "magic"},
        {"seed": -1},
        {"fail_inconclusive": 1},
        {"min_metric_coverage": 2.0},
        {"required_metrics": "psnr"},
        {"required_metrics": None},
    ],
)
def test_a_setting_that_is_none_is_refused_by_name(settings):
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        Noninferiority(**settings)


def test_an_unchanged_candidate_fails_at_most_at_the_stated_rate():
    """scripts/simulate_gate.py with fewer runs: two rules of 2.5 % each at a margin of 0."""
    num_runs, fails = 200, 0
    rng = np.random.default_rng(8)
    for run in range(num_runs):
        scores = np.clip(60.0 - rng.exponential(2.0, (2, 10, 3)), 0, 100)
        before, after = (
            simple_suite({f"e{i}": row.tolist() for i, row in enumerate(side)}) for side in scores
        )
        policy = Noninferiority(margin=0.0, seed=run)
        fails += gate(before, after, policy=policy).status == "FAIL"
    assert fails / num_runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / num_runs)


def test_settings_of_one_policy_are_no_settings_of_the_other():
    with pytest.raises(ConfigurationError, match="max_overall_drop"):
        verdict(_suite(), max_overall_drop=1.0)
    with pytest.raises(ConfigurationError, match="margin"):
        gate(_suite(), _suite(), margin=1.0)
    with pytest.raises(ConfigurationError, match="beside a policy"):
        gate(_suite(), _suite(), policy=Thresholds(), max_overall_drop=1.0)
