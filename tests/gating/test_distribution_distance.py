"""The gate on FVD."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wbgpu.errors import ConfigurationError, IncompatibleResultsError
from wbgpu.gating.distribution_distance import MIN_EPISODES, distance_failures
from wbgpu.records.distribution_distance import DistributionDistance

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
    with pytest.raises(IncompatibleResultsError, match="depends on how many there are"):
        distance_failures(_BASELINE, replace(_BASELINE, num_episodes=301, num_observations=301))


@pytest.mark.parametrize("limits", [{"max_increase": float("nan")}, {"min_episodes": 1}])
def test_limits_out_of_range_are_refused(limits):
    """A limit of NaN would pass everything."""
    with pytest.raises(ConfigurationError, match=next(iter(limits))):
        distance_failures(_BASELINE, _BASELINE, **limits)


def test_a_record_has_a_value_or_a_reason():
    """A distance of None without a reason could be taken for 0."""
    with pytest.raises(ValueError, match="either a value, or the reason"):
        replace(_BASELINE, value=None)
    assert replace(_BASELINE, num_observations=0).rank_deficiency == 400
