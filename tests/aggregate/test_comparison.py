from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.records.results import available, episode, failed, simple_suite, suite, unsupported
from wbgpu.aggregate.comparison import compare
from wbgpu.aggregate.detectable_effect import minimum_detectable_effect
from wbgpu.errors import IncompatibleResultsError
from wbgpu.records.suite import Protocol, SuiteResult


@pytest.fixture
def pair() -> SuiteResult:
    return simple_suite({"a": [60.0, 50.0], "b": [80.0, 70.0]})


def test_p40_change_is_candidate_minus_baseline(pair: SuiteResult) -> None:
    """With the sign turned, every verdict turns."""
    better = simple_suite({"a": [61.0, 53.0], "b": [80.0, 70.0]})
    comparison = compare(pair, better)
    assert comparison.overall is not None
    assert comparison.overall.change == 1.5
    assert [(m.metric, m.change) for m in comparison.composite_metrics] == [
        ("visual_similarity", 1.5)
    ]
    assert [(h.horizon, h.change) for h in comparison.composite_horizons] == [(1, 0.5), (2, 1.5)]
    assert [e.episode_id for e in comparison.improved] == ["a"]
    assert comparison.num_unchanged == 1
    assert comparison.mismatches == comparison.warnings == ()


def test_p57_other_episodes_are_refused_by_name(pair: SuiteResult) -> None:
    """Means over other episodes look like progress."""
    other = simple_suite({"a": [60.0, 50.0], "c": [80.0, 70.0]})
    with pytest.raises(IncompatibleResultsError, match=r"'b' only in the baseline, 'c' only in"):
        compare(pair, other, strict=False)


def test_of_many_other_episodes_ten_are_named(pair: SuiteResult) -> None:
    """Two suites that share nothing must not print ten thousand names."""
    names = ["a", "b", *(f"x{index:02}" for index in range(12))]
    other = simple_suite({name: [60.0] for name in names})
    with pytest.raises(IncompatibleResultsError, match=r"none only in the b.*'x09' and 2 more"):
        compare(pair, other)


def test_p49_other_ground_truth_is_refused_even_when_not_strict(pair: SuiteResult) -> None:
    """Equal names with other videos behind them compare nothing."""
    with pytest.raises(
        IncompatibleResultsError, match=r"videos are not the same: sha256:00 .* sha256:ff"
    ):
        compare(pair, replace(pair, dataset_identifier="sha256:ff"), strict=False)


def test_another_number_of_context_frames_is_refused_or_warned_of(pair: SuiteResult) -> None:
    """Horizon t+1 would be another frame in the two."""
    other = replace(pair, num_context=0)
    with pytest.raises(IncompatibleResultsError, match=r"after 4 .* after 0.*--skip-context"):
        compare(pair, other, strict=True)
    assert "4 vs 0" in compare(pair, other, strict=False).warnings[0]


def test_p59_only_batches_are_compared(pair: SuiteResult) -> None:
    """An evaluation's composite follows another rule."""
    evaluation = simple_suite({"a": [60.0, 50.0]}, result_type="evaluation")
    with pytest.raises(IncompatibleResultsError, match="candidate is a result of type"):
        compare(pair, evaluation)


def test_two_evaluations_of_a_dataset_are_compared_over_their_episodes() -> None:
    """By the mean of the episodes' composites, as batches; a single file's is still refused."""
    before, after = (
        simple_suite({"a": [60.0, 50.0], "b": [last, last]}, result_type="evaluation")
        for last in (40.0, 48.0)
    )
    comparison = compare(before, after)
    changes = {episode.episode_id: episode.change for episode in comparison.episodes}
    assert comparison.overall is not None
    assert comparison.overall.change == pytest.approx(sum(changes.values()) / 2)
    path = before.episodes[0].ground_truth_path
    alone = replace(before, ground_truth_root=path, episodes=before.episodes[:1])
    with pytest.raises(IncompatibleResultsError, match="baseline is a result of type"):
        compare(alone, alone)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema_version": "1"}, "result schema versions differ"),
        ({"enabled_metrics": ("visual_similarity",)}, "enabled metric sets differ"),
        ({"configured_weights": {"visual_similarity": 1.0}}, "configured metric weights differ"),
        ({"configuration_hash": "ff"}, "configuration hashes differ"),
    ],
)
def test_p44_p46_differing_settings_are_listed(
    pair: SuiteResult, changes: dict[str, Any], message: str
) -> None:
    """Unlisted, a change of weights would pass for a change of the model."""
    assert compare(pair, replace(pair, **changes)).mismatches == (message,)


def test_differing_horizons_are_listed(pair: SuiteResult) -> None:
    """The longer one's last horizons have nothing to be held against."""
    shorter = simple_suite({"a": [60.0], "b": [80.0]})
    comparison = compare(pair, shorter)
    assert comparison.mismatches == ("evaluated horizon sets differ",)
    assert {change.horizon for change in comparison.composite_horizons} == {1}


def test_p48_differing_counts_of_episodes_are_listed() -> None:
    """A metric's means are then over other episodes."""
    both = [available("visual_similarity", [50.0]), available("temporal_stability", [50.0])]
    lost = [both[0], unsupported("temporal_stability")]
    whole = suite([episode("a", both, 1), episode("b", both, 1)])
    partial = suite([episode("a", both, 1), episode("b", lost, 1)])
    assert compare(whole, partial).mismatches == (
        "available episode counts differ for temporal_stability",
    )


def test_p47_old_files_are_compared_with_warnings(pair: SuiteResult) -> None:
    """What they do not state was not checked, and the reader must know."""
    old = replace(pair, schema_version="1", configuration_hash=None, dataset_identifier=None)
    comparison = compare(old, old)
    assert comparison.mismatches == ()
    assert [warning.split()[0] for warning in comparison.warnings] == [
        "This",
        "Dataset",
        "Configuration",
    ]


def _with_protocol(batch: SuiteResult, **changes: Any) -> SuiteResult:
    assert isinstance(batch.protocol, Protocol)
    return replace(batch, protocol=replace(batch.protocol, **changes))


def _redefined(batch: SuiteResult, name: str, metric_id: str) -> SuiteResult:
    assert isinstance(batch.protocol, Protocol)
    info = replace(batch.metric_infos[name], metric_id=metric_id)
    found = replace(batch, metric_infos={**batch.metric_infos, name: info})
    return _with_protocol(found, metric_ids={**batch.protocol.metric_ids, name: metric_id})


def test_differing_protocols_are_listed_when_both_files_have_one(pair: SuiteResult) -> None:
    """Resized predictions are another measurement."""
    other = _with_protocol(pair, resize_policy="bilinear")
    assert compare(pair, other).mismatches == (
        "protocols differ in resize_policy: refuse vs bilinear",
    )
    assert compare(pair, replace(other, protocol=None)).mismatches == ()


@pytest.mark.parametrize("strict", [True, False])
def test_two_definitions_of_one_metric_are_never_compared(pair: SuiteResult, strict: bool) -> None:
    """Another SSIM moves the composite by points; worldbench cannot tell."""
    other = _redefined(pair, "visual_similarity", "visual_similarity/worldbench-1.0-luma")
    message = r"visual_similarity \(visual_similarity/worldbench-1.0 and .*1.0-luma\)"
    with pytest.raises(IncompatibleResultsError, match=message):
        compare(pair, other, strict=strict)
    compare(pair, replace(other, protocol=None), strict=strict)


def test_other_metrics_are_compared_in_both_views_unless_defined_otherwise() -> None:
    """Two definitions of PSNR differ by 1.3 dB on one video (CASES.md)."""

    def batch(values: list[float]) -> SuiteResult:
        psnr = available("psnr", values, step=tuple(values))
        return suite([episode("a", [available("visual_similarity", [50.0, 50.0]), psnr])])

    before, after = batch([30.0, 20.0]), batch([31.0, 22.0])
    comparison = compare(before, after)
    assert [(m.metric, m.change) for m in comparison.other_metrics] == [("psnr", 2.0)]
    assert [(h.horizon, h.view, h.change) for h in comparison.other_horizons] == [
        (1, "prefix", 1.0),
        (1, "step", 1.0),
        (2, "prefix", 2.0),
        (2, "step", 2.0),
    ]
    with pytest.raises(IncompatibleResultsError, match=r"psnr \(psnr/1 and psnr/2\)"):
        compare(before, _redefined(after, "psnr", "psnr/2"), strict=False)


def test_the_minimum_detectable_effect_is_of_the_paired_changes(pair: SuiteResult) -> None:
    """Of the scores themselves it would be many times larger."""
    better = simple_suite({"a": [61.0, 51.0], "b": [80.0, 73.0]})
    comparison = compare(pair, better)
    assert comparison.minimum_detectable_effect == minimum_detectable_effect([1.0, 3.0])
    alone = simple_suite({"a": [60.0]})
    assert compare(alone, alone).minimum_detectable_effect is None


def test_episodes_without_a_composite_on_both_sides_have_no_change(pair: SuiteResult) -> None:
    """Taken as 0, one failed video would be a drop of 70 points."""
    partial = suite([pair.episodes[0], failed("b")])
    comparison = compare(pair, partial)
    assert [change.episode_id for change in comparison.episodes] == ["a"]
    nothing = suite([failed("a"), failed("b")])
    assert compare(pair, nothing).overall is None
