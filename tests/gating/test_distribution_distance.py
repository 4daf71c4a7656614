"""The gate on FVD."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.gating.gates import kinds
from tests.records.results import simple_suite
from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.gating.distribution_distance import distance_failures
from wbgpu.records.distribution_distance import MIN_EPISODES, DistributionDistance
from wbgpu.sdk import gate

_BASELINE = DistributionDistance("fvd", "fvd/frechet-1.0(a)", 100.0, None, 300, 300, 400)


def test_refused_under_the_minimum_however_good():
    """Ten episodes have an FVD, and it says nothing."""
    few = replace(_BASELINE, num_episodes=MIN_EPISODES - 1, num_observations=MIN_EPISODES - 1)
    (failure,) = distance_failures(few, replace(few, value=1.0))
    assert failure.kind == "distance_episodes"
    assert failure.evidence["minimum"] == MIN_EPISODES
    assert failure.evidence["rank_deficiency"] == 400 - (MIN_EPISODES - 2)
    enough = replace(few, num_episodes=MIN_EPISODES, num_observations=MIN_EPISODES)
    assert distance_failures(enough, replace(enough, value=1.0)) == []


def test_an_increase_beyond_the_limit_fails():
    """And one at the limit does not."""
    worse = replace(_BASELINE, value=110.0)
    (failure,) = distance_failures(_BASELINE, worse, max_increase=9.0)
    assert failure.kind == "distance_increase"
    assert failure.evidence["change"] == 10.0
    assert distance_failures(_BASELINE, worse, max_increase=10.0) == []
    assert distance_failures(worse, _BASELINE) == []


def test_a_missing_distance_never_passes():
    """Missing is not zero."""
    missing = replace(_BASELINE, value=None, reason="No feature extractor is given.")
    for pair in ((_BASELINE, missing), (missing, _BASELINE)):
        (failure,) = distance_failures(*pair)
        assert failure.kind == "distance_unavailable"
        assert failure.evidence["reason"] == "No feature extractor is given."


def test_other_extractors_or_numbers_are_not_compared():
    """The bias of the estimate falls with the number of episodes."""
    with pytest.raises(IncompatibleResultsError, match="one extractor and the same settings"):
        distance_failures(_BASELINE, replace(_BASELINE, metric_id="fvd/frechet-1.0(b)"))
    more = replace(_BASELINE, num_episodes=301, num_observations=301)
    (failure,) = distance_failures(_BASELINE, more)
    assert failure.kind == "distance_unavailable"
    assert "depends on how many there are" in failure.evidence["reason"]


@pytest.mark.parametrize(
    ("limits", "key"),
    [
        ({"max_increase": float("nan")}, r"distance_margins\.fvd"),
        ({"max_increase": -1.0}, r"distance_margins\.fvd"),
        ({"min_episodes": 1}, "min_distance_episodes"),
    ],
)
def test_limits_out_of_range_are_refused(limits, key):
    """A limit of NaN would pass everything."""
    with pytest.raises(ConfigurationError, match=key):
        distance_failures(_BASELINE, _BASELINE, **limits)


def _gated(before, after, **settings):
    sides = [
        simple_suite({"a": [50.0]}, distribution_distances=distances)
        for distances in (before, after)
    ]
    return gate(*sides, **settings)


_WORSE = replace(_BASELINE, value=110.0)


@pytest.mark.parametrize("policy", ["worldbench", "noninferiority"])
def test_a_worse_distance_fails_only_with_a_margin(policy):
    """Nobody has said how much worse is too much."""
    loose = {} if policy == "worldbench" else {"margin": 100.0}
    before, after = [_BASELINE], [_WORSE]
    assert "distance_increase" not in kinds(_gated(before, after, policy=policy, **loose))
    strict = {**loose, "distance_margins": {"fvd": 9.0}}
    assert "distance_increase" in kinds(_gated(before, after, policy=policy, **strict))
    wide = {**loose, "distance_margins": {"fvd": 10.0}}
    assert "distance_increase" not in kinds(_gated(before, after, policy=policy, **wide))


def test_a_distance_with_a_margin_must_be_there():
    """Leaving it out, or failing some episodes, would be a way past the gate."""
    margins = {"distance_margins": {"fvd": 100.0}}
    for pair in (([_BASELINE], []), ([], [_BASELINE]), ([], [])):
        verdict = _gated(*pair, **margins)
        assert kinds(verdict) == ["distance_unavailable"]
        assert "was not measured in the" in verdict.failures[0].evidence["reason"]
    few = [replace(_BASELINE, num_episodes=10, num_observations=10)]
    assert kinds(_gated(few, few, **margins)) == ["distance_episodes"]
    assert kinds(_gated(few, few, min_distance_episodes=10, **margins)) == []


def test_two_extractors_are_refused_whatever_the_limits():
    """As two definitions of a metric are."""
    with pytest.raises(IncompatibleResultsError, match=r"fvd/frechet-1.0\(a\) and fvd"):
        _gated([_BASELINE], [replace(_BASELINE, metric_id="fvd/frechet-1.0(b)")])


def test_without_margins_worldbenchs_file_has_its_own_keys():
    """Scripts compare gate.json key by key."""
    assert not {key for key in _gated([], []).thresholds if "distance" in key}
    limits = _gated([_BASELINE], [_BASELINE], distance_margins={"fvd": 1}).thresholds
    assert limits["distance_margins"] == {"fvd": 1.0}
    assert limits["min_distance_episodes"] == MIN_EPISODES


def test_a_record_has_a_value_or_a_reason():
    """A distance of None without a reason could be taken for 0."""
    with pytest.raises(ValueError, match="either a value, or the reason"):
        replace(_BASELINE, value=None)
    assert replace(_BASELINE, num_observations=0).rank_deficiency == 400
