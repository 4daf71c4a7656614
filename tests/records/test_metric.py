from __future__ import annotations

import pytest

from tests.records.results import available, unsupported
from wbgpu.records.metric import MetricOutcome


def test_a_value_stands_exactly_with_the_status_available() -> None:
    """Otherwise a missing metric could carry a number, or a present one none."""
    with pytest.raises(ValueError, match=r"'unsupported' with value 3\.0"):
        MetricOutcome("psnr", "psnr/1", "unsupported", value=3.0, reason="no")
    with pytest.raises(ValueError, match="'available' with value None"):
        MetricOutcome("psnr", "psnr/1", "available")


def test_a_missing_value_needs_a_reason() -> None:
    """P75 prints it."""
    with pytest.raises(ValueError, match="needs a reason"):
        MetricOutcome("psnr", "psnr/1", "error", error_type="ValueError")


def test_views_end_where_the_episode_ends() -> None:
    """Horizons are 1-based: one off and every step would be held against its neighbour."""
    outcome = available("psnr", [None, 2.0], step=(1.0, 3.0))
    assert [outcome.prefix_at(t) for t in (1, 2, 3)] == [None, 2.0, None]
    assert [outcome.step_at(t) for t in (1, 2, 3)] == [1.0, 3.0, None]


def test_a_metric_lacks_a_prefix_only_where_it_has_that_view() -> None:
    """A metric of the whole episode must not count as unavailable at every horizon."""
    assert available("psnr", [None, 2.0]).lacks_prefix_at(1)
    assert not available("psnr", [None, 2.0]).lacks_prefix_at(2)
    whole = MetricOutcome("lag", "lag/1", "available", value=1.0)
    assert not whole.lacks_prefix_at(1)
    assert unsupported("psnr").lacks_prefix_at(1)


def test_whether_a_prefix_is_lacking_at_all_is_the_same_question_at_each_horizon() -> None:
    """It is asked once an episode, and a wrong no would drop the reasons from every file."""
    outcomes = [
        available("psnr", [None, 2.0, 3.0]),
        available("psnr", [1.0, 2.0, 3.0]),
        available("psnr", [1.0, 2.0]),
        MetricOutcome("lag", "lag/1", "available", value=1.0),
        unsupported("psnr"),
    ]
    for outcome in outcomes:
        expected = any(outcome.lacks_prefix_at(horizon) for horizon in (1, 2, 3))
        assert outcome.lacks_a_prefix(3) == expected


def test_the_reason_at_a_horizon_is_the_most_particular_one() -> None:
    """Otherwise a report would blame the whole episode for what only a short prefix lacks."""
    outcome = unsupported("a", "whole", prefix_reasons=("first", None))
    assert [outcome.prefix_reason_at(t) for t in (1, 2, 3)] == ["first", "whole", "whole"]
    assert available("a", [None, 1.0]).prefix_reason_at(1) == "too short"
