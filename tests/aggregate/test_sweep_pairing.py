from __future__ import annotations

from dataclasses import replace

import pytest

from tests.aggregate.sweeps import entry, flat, of_psnr, scored
from tests.records.regret_results import regret_result
from tests.records.results import simple_suite
from wbgpu.aggregate.sweep_pairing import comparable, metrics_of, unit_of, values_of
from wbgpu.records.suite import Protocol

SAFE = Protocol({}, num_context=4, alignment_policy="safe", resize_policy="refuse")


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (flat(1, 50, 60, num_context=2), "4 context frames"),
        (flat(1, 50, 60, dataset_identifier="sha256:ff"), "ground-truth videos are not the same"),
        (flat(1, 50), "different episode sets"),
        (flat(1, 50, 60, protocol=SAFE), "protocols differ in alignment_policy: strict and safe"),
        (
            flat(1, 50, 60, configured_weights={"visual_similarity": 1.0}),
            "the composite is another one: configured weights differ",
        ),
        (scored(1, {"e0": [50], "e1": [60]}), "'e0' was scored over 2 steps in one and 1 in the"),
        (entry(1, regret_result("kt")), "one result is of videos and the other of regret"),
    ],
)
def test_what_differs_in_protocol_is_not_ranked(other, reason):
    """Sweeping over the number of context frames gives scores of other frames."""
    kept, left_out = comparable([flat(0, 50, 60), other], "composite")
    assert [e.job for e in kept] == [0]
    assert left_out[0].reason.startswith("not comparable with job 0: ")
    assert reason in left_out[0].reason


def test_other_weights_are_no_obstacle_for_a_metric():
    """A metric's mean does not depend on the composite."""
    entries = [flat(0, 50, 60), flat(1, 50, 60, configured_weights={"visual_similarity": 1.0})]
    assert len(comparable(entries, "visual_similarity")[0]) == 2


def test_regret_in_other_worlds_is_not_ranked():
    entries = [entry(0, regret_result("kt")), entry(1, regret_result("kt", num_steps=5))]
    (out,) = comparable(entries, "expected_regret")[1]
    assert "different numbers of steps" in out.reason


def test_the_largest_group_is_ranked_or_that_of_the_baseline():
    """One odd job at the front must not push all others out."""
    odd = flat(0, 50, 60, num_context=2)
    entries = [odd, flat(1, 50, 60), flat(2, 51, 61)]
    assert [e.job for e in comparable(entries, "composite")[0]] == [1, 2]
    kept, left_out = comparable(entries, "composite", first=0)
    assert ([e.job for e in kept], [o.job for o in left_out]) == ([0], [1, 2])


def test_values_are_those_of_the_result():
    """The tables must show what the results hold."""
    suite = simple_suite({"a": [9.0, 5.0], "b": [9.0, 7.0]})
    assert values_of(suite, "composite") == {"a": 5.0, "b": 7.0}
    assert values_of(suite, "contact_realism") == {}
    assert values_of(of_psnr(0, 20, None).result, "psnr") == {"e0": 20}
    assert metrics_of(suite)[:2] == ("composite", "visual_similarity")
    assert unit_of(of_psnr(0, 20).result, "psnr") == ("dB", True)


def test_infinite_regret_is_no_value():
    """It has no difference to anything."""
    reckless = replace(regret_result("reckless", seeds=range(6), num_steps=40))
    values = values_of(reckless, "regret")
    assert len(values) < 6
    kt = regret_result("kt")
    assert values_of(kt, "psnr") == {}
    assert values_of(kt, "regret")["0"] == kt.episodes[0].totals.cumulative_regret_nats / 12
