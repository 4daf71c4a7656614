from __future__ import annotations

from pathlib import Path

import pytest
from worldbench.runners.evaluator import aggregate_horizon_results
from worldbench.runners.regression import _aggregate_batch_metrics
from worldbench.schemas import EpisodeResult as TheirEpisode

from tests.records.golden import load, missing_from, plain_json
from tests.records.results import available, episode, failed, simple_suite, suite, unsupported
from wbgpu.aggregate.summary import summarize
from wbgpu.records.worldbench import batch_payload, parse_result

RAW = [f"batch_pypi_{side}_skip{skip}" for side in ("baseline", "candidate") for skip in (0, 1)]


@pytest.mark.parametrize("name", RAW)
def test_aggregates_are_worldbenchs_own_functions(shared: Path, name: str) -> None:
    """worldbench's aggregation run on its own episodes, against ours on the same."""
    document = load(shared / f"golden/raw/{name}.json.gz")
    found = batch_payload(parse_result(document, name))
    theirs = [TheirEpisode(**e["result"]["episodes"][0]) for e in document["episodes"]]
    horizons = plain_json(aggregate_horizon_results(theirs))
    metrics = plain_json(_aggregate_batch_metrics(document["episodes"]))
    result = parse_result(document, name)
    again = summarize(
        result.episodes,
        enabled_metrics=result.enabled_metrics,
        configured_weights=result.configured_weights,
    )
    assert again == result.summary
    assert list(missing_from(metrics, plain_json(found["aggregate"]["metrics"]))) == []
    assert list(missing_from(horizons, plain_json(found["horizon"]))) == []


def test_p33_overall_is_of_the_episodes_composites() -> None:
    """Population std and linear percentiles; the sample std would be 26.5."""
    overall = simple_suite({"a": [10.0], "b": [20.0], "c": [60.0]}).summary.overall
    assert overall is not None
    assert (overall.count, overall.mean, overall.median) == (3, 30.0, 20.0)
    assert overall.std == pytest.approx(21.602468994692867)
    assert (overall.p10, overall.p90) == (12.0, 52.0)


def test_p34_p35_a_metric_that_no_episode_has_is_unsupported() -> None:
    """And the weights of the others make up one."""
    temporal = [available("temporal_stability", [None, 50.0]), unsupported("temporal_stability")]
    summary = suite(
        [
            episode(name, [available("visual_similarity", [80.0, 60.0]), t, lost])
            for name, t, lost in zip(
                "ab", temporal, [unsupported("contact_realism")] * 2, strict=True
            )
        ]
    ).summary
    contact = summary.metrics["contact_realism"]
    assert (contact.status, contact.available_count, contact.total_count) == ("unsupported", 0, 2)
    assert contact.reason == "Metric was unavailable for every episode."
    assert [item.episode_id for item in contact.unavailable] == ["a", "b"]
    assert summary.metrics["temporal_stability"].available_count == 1
    assert summary.coverage.effective_normalized_weights == pytest.approx(
        {"visual_similarity": 5 / 9, "temporal_stability": 4 / 9}
    )


def test_p37_horizons_count_the_episodes_that_reach_them() -> None:
    """A mean over fewer episodes must say so."""
    horizons = simple_suite({"a": [10.0, 20.0, 30.0], "b": [50.0]}).summary.horizons
    assert [h.sample_count for h in horizons] == [2, 1, 1]
    assert [h.prefix["visual_similarity"].count for h in horizons] == [2, 1, 1]
    assert horizons[0].unavailable["contact_realism"] == (2, ("does not apply",))


def test_o25_the_five_lowest_episodes_ties_by_id() -> None:
    """In another order two runs of one suite would differ."""
    scores = {name: [score] for name, score in zip("fedcba", (5, 4, 4, 9, 9, 1), strict=True)}
    worst = simple_suite(scores).summary.worst_episodes
    assert worst == (("a", 1.0), ("d", 4.0), ("e", 4.0), ("f", 5.0), ("b", 9.0))


def test_o08_o09_an_evaluation_of_a_dataset_wants_every_metric_everywhere() -> None:
    """In a batch the same metric is averaged over the episodes that have it."""
    episodes = [
        episode(
            "a", [available("visual_similarity", [80.0]), available("temporal_stability", [50.0])]
        ),
        episode(
            "b", [available("visual_similarity", [60.0]), unsupported("temporal_stability", "few")]
        ),
    ]
    batch = suite(episodes).summary
    dataset = suite(episodes, result_type="evaluation").summary
    assert batch.metrics["temporal_stability"].status == "available"
    assert batch.score == pytest.approx(((80 * 0.25 + 50 * 0.2) / 0.45 + 60) / 2)
    assert dataset.metrics["temporal_stability"].status == "unsupported"
    assert dataset.metrics["temporal_stability"].reason == "few"
    assert dataset.metrics["temporal_stability"].available_count == 1
    assert dataset.score == 70.0


def test_failed_episodes_enter_no_number() -> None:
    """Missing is not zero."""
    whole = simple_suite({"a": [10.0, 20.0], "b": [50.0, 40.0]})
    with_failure = suite([*whole.episodes, failed("c")])
    assert with_failure.summary == whole.summary


def test_an_episode_without_a_composite_enters_no_composite() -> None:
    """worldbench counts it as 0."""
    psnr = episode("b", [available("psnr", [30.0, 20.0])])
    summary = suite([*simple_suite({"a": [10.0, 20.0]}).episodes, psnr]).summary
    assert summary.overall is not None
    assert summary.overall.count == 1
    assert summary.worst_episodes == (("a", 20.0),)
    assert suite([psnr]).summary.overall is None
    assert suite([psnr]).summary.score is None


def test_step_views_are_summarised_beside_prefixes() -> None:
    """Mixed up, one late collapse would look like a slow decline."""
    metric = available("psnr", [30.0, 25.0], step=(30.0, 20.0))
    second = suite([episode("a", [metric])]).summary.horizons[1]
    assert second.prefix["psnr"].mean == 25.0
    assert second.step["psnr"].mean == 20.0


def test_a_metric_that_only_ever_broke_is_in_error() -> None:
    """Called unsupported, a bug of ours would look like a property of the videos."""
    broken = unsupported("psnr", "boom", status="error", error_type="ValueError")
    summary = suite([episode("a", [broken]), episode("b", [broken])]).summary.metrics["psnr"]
    assert (summary.status, summary.error_count) == ("error", 2)
    mixed = suite([episode("a", [broken]), episode("b", [unsupported("psnr")])])
    assert mixed.summary.metrics["psnr"].status == "unsupported"
