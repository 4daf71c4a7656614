from __future__ import annotations

from dataclasses import replace

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
    short = MetricOutcome(
        "psnr", "psnr/1", "available", value=2.0, prefix=(None, 2.0), prefix_reasons=("short", None)
    )
    assert short.lacking_prefixes(2) == {1: "short"}
    assert short.lacking_prefixes(3) == {1: "short", 3: None}
    assert available("psnr", [1.0, 2.0]).lacking_prefixes(2) == {}
    whole = MetricOutcome("lag", "lag/1", "available", value=1.0)
    assert whole.lacking_prefixes(2) == {}
    assert unsupported("psnr", "no video").lacking_prefixes(2) == {1: "no video", 2: "no video"}
    some = MetricOutcome(
        "psnr", "psnr/1", "unsupported", reason="whole", prefix_reasons=("first", None)
    )
    assert some.lacking_prefixes(2) == {1: "first", 2: "whole"}


def test_the_reason_at_a_horizon_is_the_most_particular_one() -> None:
    """Otherwise a report would blame the whole episode for what only a short prefix lacks."""
    outcome = unsupported("a", "whole", prefix_reasons=("first", None))
    assert [outcome.prefix_reason_at(t) for t in (1, 2, 3)] == ["first", "whole", "whole"]
    assert available("a", [None, 1.0]).prefix_reason_at(1) == "too short"


def test_a_value_of_more_frames_than_the_views_keeps_its_details() -> None:
    """Else a file would say 12 frames at horizon 7, or 7 of a value that counts 12."""
    outcome = available("temporal_stability", [None, 2.0, 3.0])
    outcome = replace(
        outcome, prefix_details={"n": (None, 2, 3)}, prefix_reasons=("one", None, None)
    )
    cut = outcome.with_views_up_to(2)
    assert (cut.value, cut.prefix, cut.prefix_reasons) == (3.0, (None, 2.0), ("one", None))
    assert (cut.prefix_details, cut.whole_details) == ({"n": (None, 2)}, {"n": 3})
    alone = outcome.with_views_up_to(1)
    assert (alone.value, alone.prefix, alone.prefix_details) == (3.0, (None,), {})
    assert alone.whole_details == {"n": 3}
    same = replace(outcome, prefix_details={"n": (None, 2, 2)}).with_views_up_to(2)
    assert same.whole_details is None
    missing = unsupported("psnr", "no video").with_views_up_to(1)
    assert missing == unsupported("psnr", "no video")
