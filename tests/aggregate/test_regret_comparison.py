"""Two results, paired by seed."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from tests.records.regret_results import regret_result
from wbgpu.aggregate.detectable_effect import detectable_effect_in_errors
from wbgpu.aggregate.regret_comparison import compare_regret
from wbgpu.errors import IncompatibleResultsError

SEEDS = tuple(range(20))


def per_step(result, key):
    return np.array([getattr(e.totals, key) for e in result.episodes]) / result.num_steps


def test_the_interval_is_that_of_paired_differences():
    """Unpaired, the spread of the episodes would hide the change."""
    before, after = (regret_result(c, seeds=SEEDS) for c in ("tempered", "mixed"))
    comparison = compare_regret(before, after, level=0.9)
    for change, key in (
        (comparison.expected, "expected_regret_nats"),
        (comparison.realised, "cumulative_regret_nats"),
    ):
        old, new = per_step(before, key), per_step(after, key)
        assert change.baseline == pytest.approx(old.mean())
        assert change.candidate == pytest.approx(new.mean())
        assert change.change == pytest.approx((new - old).mean())
        low, high = stats.ttest_rel(new, old).confidence_interval(0.9)
        assert change.interval.lower == pytest.approx(low)
        assert change.interval.upper == pytest.approx(high)
    differences = per_step(after, "expected_regret_nats") - per_step(before, "expected_regret_nats")
    assert comparison.minimum_detectable_effect == pytest.approx(
        detectable_effect_in_errors(len(differences)) * stats.sem(differences)
    )


def test_pairs_are_by_seed_and_not_by_place():
    before = regret_result("tempered", seeds=SEEDS)
    straight = compare_regret(before, regret_result("mixed", seeds=SEEDS))
    turned = compare_regret(before, regret_result("mixed", seeds=SEEDS[::-1]))
    assert turned.expected == straight.expected
    assert turned.realised == straight.realised


def test_horizons_are_prefixes_per_step():
    before, after = (regret_result(c, seeds=SEEDS) for c in ("tempered", "kt"))
    comparison = compare_regret(before, after)
    for horizon in comparison.horizons:
        h = horizon.horizon
        steps = [
            np.array([e.step_expected_regret_nats[:h] for e in r.episodes]) for r in (before, after)
        ]
        old, new = (values.sum(axis=1).mean() / h for values in steps)
        assert (horizon.baseline, horizon.candidate) == (pytest.approx(old), pytest.approx(new))
        assert horizon.change == pytest.approx(new - old)
    assert comparison.horizons[-1].change == pytest.approx(comparison.expected.change)


def test_variables_add_up_to_the_whole():
    comparison = compare_regret(regret_result("tempered"), regret_result("kt"))
    changes = [change.change for change in comparison.per_variable.values()]
    assert math.fsum(changes) == pytest.approx(comparison.expected.change)


def test_what_is_infinite_has_no_change():
    """inf - inf is not a number, and no change must not be 0."""
    finite, infinite = regret_result(num_steps=60), regret_result("reckless", num_steps=60)
    for before, after in ((finite, infinite), (infinite, finite), (infinite, infinite)):
        comparison = compare_regret(before, after)
        assert comparison.expected.change is comparison.expected.interval is None
        assert comparison.minimum_detectable_effect is None
        assert comparison.horizons[-1].change is None


def test_one_episode_has_a_change_without_an_interval():
    comparison = compare_regret(regret_result("kt", seeds=(7,)), regret_result("mixed", seeds=(7,)))
    assert comparison.expected.change is not None
    assert comparison.expected.interval.lower is None
    assert comparison.minimum_detectable_effect is None


def test_what_is_not_of_the_same_episodes_is_refused():
    before = regret_result()
    episode = before.episodes[0]
    totals = dataclasses.replace(
        episode.totals, reference_loss_nats=episode.totals.reference_loss_nats + 0.1
    )
    others = [dataclasses.replace(episode, totals=totals), *before.episodes[1:]]
    for after, message in (
        (regret_result(world="markov_chain"), "different worlds: spectator and markov_chain"),
        (dataclasses.replace(before, world_sha256="other"), r"different worlds \(sha256\)"),
        (regret_result(num_steps=13), "different numbers of steps: 12 and 13"),
        (regret_result(seeds=(0, 1, 2)), "different seeds: 2 are on one side only, such as 2"),
        (regret_result(seeds=(0, 1)), "different seeds: 1 are on one side only"),
        (dataclasses.replace(before, episodes=tuple(others)), "seed 0: .* different outcomes"),
    ):
        with pytest.raises(IncompatibleResultsError, match=message):
            compare_regret(before, after)
