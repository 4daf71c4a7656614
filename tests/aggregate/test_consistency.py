from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.records.golden import at, load, plain_json, put
from tests.records.results import available, episode, failed, simple_suite, suite
from wbgpu.aggregate.consistency import check_result
from wbgpu.errors import ResultFileError
from wbgpu.records.metric import SCORE_UNIT
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result


@pytest.fixture(scope="module")
def batch(shared: Path) -> str:
    return json.dumps(load(shared / "golden/raw/batch_pypi_candidate_skip0.json.gz"))


def _all_scores(value: float) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for entry in document["episodes"]:
            entry["score"] = entry["result"]["score"] = value
            entry["result"]["composite_score"] = entry["result"]["episodes"][0]["score"] = value

    return change


def _edit(*keys: Any, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def _overall(key: str, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for place in ("overall", "composite_score"):
            document["aggregate"][place][key] = value

    return change


def _twice(document: Any) -> None:
    document["episodes"][1] = copy.deepcopy(document["episodes"][0])
    document["episode_ids"][1] = document["episode_ids"][0]


def _nothing(document: Any) -> None:
    document["episodes"], document["episode_ids"], document["episode_count"] = [], [], 0


def _prefix_score(document: Any) -> None:
    document["episodes"][0]["result"]["episodes"][0]["horizon"]["t+2"]["score"] = 1.0


def _prefix_value(document: Any) -> None:
    horizon = document["episodes"][0]["result"]["episodes"][0]["horizon"]["t+2"]
    horizon["metrics"]["visual_similarity"]["score"] = 101.0


def _whole_episode_less(document: Any) -> None:
    del document["episodes"][2], document["episode_ids"][2]
    document["episode_count"] -= 1


def _weights(document: Any) -> None:
    for place in (document, document["coverage"]):
        place["effective_normalized_weights"]["visual_similarity"] = 0.9


VISUAL = ("metrics", "visual_similarity")
AGGREGATE = "$.aggregate.metrics.visual_similarity"
T3 = "$.horizon.t+3"
COVERAGE = "$.coverage"


@pytest.mark.parametrize(
    ("change", "json_path"),
    [
        (_all_scores(-50.0), "$.episodes[0].score"),
        (_all_scores(150.0), "$.episodes[0].score"),
        (_all_scores(90.0), "$.episodes[0].score"),
        (_overall("mean", 99.0), "$.aggregate.overall.mean"),
        (_overall("mean", 180.0), "$.aggregate.overall.mean"),
        (_overall("count", 15), "$.aggregate.overall.count"),
        (_overall("count", 0), "$.aggregate.overall"),
        (_edit("aggregate", *VISUAL, "mean", value=99.0), f"{AGGREGATE}.mean"),
        (_edit("aggregate", *VISUAL, "available_count", value=9), f"{AGGREGATE}.available_count"),
        (_edit("aggregate", *VISUAL, "total_count", value=9), f"{AGGREGATE}.total_count"),
        (_edit("horizon", "t+3", *VISUAL, "mean", value=99.0),
         f"{T3}.metrics.visual_similarity.mean"),
        (_edit("horizon", "t+3", *VISUAL, "count", value=9),
         f"{T3}.metrics.visual_similarity.count"),
        (_edit("horizon", "t+3", "metrics", value={}), f"{T3}.metrics"),
        (_edit("horizon", "t+3", "sample_count", value=2), f"{T3}.sample_count"),
        (_edit("horizon", "t+3", "unavailable_metrics", value={}),
         f"{T3}.unavailable_metrics"),
        (_edit("horizon", value={}), "$.horizon"),
        (_edit("coverage", "available_metrics",
               value=["visual_similarity", "contact_realism"]),
         f"{COVERAGE}.available_metrics"),
        (_edit("coverage", "metric_coverage", value=1.0), f"{COVERAGE}.metric_coverage"),
        (_edit("coverage", "configured_weight_coverage", value=1.0),
         f"{COVERAGE}.configured_weight_coverage"),
        (_weights, f"{COVERAGE}.effective_normalized_weights.visual_similarity"),
        (_edit("worst_episodes", 0, "score", value=99.0), "$.worst_episodes[0]"),
        (_edit("worst_episodes", 0, "episode_id", value="x"), "$.worst_episodes[0]"),
        (_edit("worst_episodes", value=[]), "$.worst_episodes"),
        (_prefix_score, "$.episodes[0].result.episodes[0].horizon.t+2.score"),
        (_prefix_value, f"$.episodes[0].result.episodes[0].horizon.t+2.{'.'.join(VISUAL)}.score"),
        (_twice, "$.episodes"),
        (_nothing, "$.episodes"),
        (_whole_episode_less, "$.aggregate.overall.count"),
    ],
)  # fmt: skip
def test_a_batch_that_contradicts_itself_is_refused_with_the_place(
    batch: str, change: Callable[[Any], None], json_path: str
) -> None:
    """P56 and more; worldbench's gate passes most of these."""
    document = json.loads(batch)
    change(document)
    with pytest.raises(ResultFileError) as caught:
        check_result(parse_result(document, "batch.json"), "batch.json")
    assert caught.value.json_path == json_path
    at(document, json_path)


EPISODE = "$.episodes[0]"
OWN_METRIC = "$.wbgpu.aggregate.metrics.psnr"
OWN_HORIZON = "$.wbgpu.horizon.t+2"


@pytest.mark.parametrize("kind", ["batch_evaluation", "evaluation"])
@pytest.mark.parametrize(
    ("json_path", "value", "place"),
    [
        (f"{OWN_METRIC}.mean", 1.0, None),
        (f"{OWN_METRIC}.available_count", 9, None),
        ("$.wbgpu.aggregate.metrics", {}, None),
        (f"{OWN_HORIZON}.prefix.psnr.mean", 1.0, None),
        (f"{OWN_HORIZON}.prefix", {}, None),
        (f"{OWN_HORIZON}.step.psnr.p90", 1.0, None),
        (f"{OWN_HORIZON}.step.visual_similarity.mean", 1.0, None),
        ("$.wbgpu.horizon.t+1.unavailable_metrics", {}, None),
        ("$.wbgpu.horizon.t+1.unavailable_metrics.lag.count", 2, None),
        ("$.horizon.t+1.unavailable_metrics.temporal_stability.count", 2, None),
        (f"{EPISODE}.wbgpu.metrics.psnr.value", 1.0, f"{OWN_METRIC}.mean"),
        (f"{EPISODE}.wbgpu.metrics.psnr.prefix[1]", 1.0, f"{OWN_HORIZON}.prefix.psnr.mean"),
        (f"{EPISODE}.wbgpu.metrics.visual_similarity.step[1]", 101.0, None),
        (f"{EPISODE}.wbgpu.metrics.own_score.value", 101.0, None),
        (f"{EPISODE}.wbgpu.metrics.own_score.prefix[0]", -1.0, None),
    ],
)
def test_a_contradiction_of_our_extension_is_refused_with_a_place_that_exists(
    kind: str, json_path: str, value: Any, place: str | None
) -> None:
    """A place that is not in the file sends its reader on a search."""
    document = _extended(kind)
    check_result(parse_result(document, "x"), "x")
    put(document, json_path, value)
    with pytest.raises(ResultFileError) as caught:
        check_result(parse_result(document, "x"), "x")
    assert caught.value.json_path == (place or json_path)
    at(document, caught.value.json_path)


def _extended(kind: str) -> Any:
    """A document with metrics inside and outside the composite, in both views."""
    outcomes = [
        available("visual_similarity", [60.0, 50.0], step=(60.0, 40.0)),
        available("temporal_stability", [None, 90.0]),
        available("psnr", [30.0, 25.0], step=(30.0, 20.0)),
        available("lag", [None, 3.0]),
        available("own_score", [70.0, 80.0]),
    ]
    found = suite([episode("a", outcomes)], result_type=kind)
    score = replace(found.metric_infos["own_score"], unit=SCORE_UNIT)
    found = replace(found, metric_infos={**found.metric_infos, "own_score": score})
    write = batch_payload if kind == "batch_evaluation" else evaluation_payload
    return plain_json(write(found))


def test_a_perfectly_consistent_forgery_out_of_range_is_refused() -> None:
    """Sums that agree are not enough: a score above 100 would win every gate."""
    forged = simple_suite({"a": [101.0], "b": [101.0]})
    forged = replace(
        forged,
        episodes=tuple(replace(e, score=101.0, prefix_scores=(101.0,)) for e in forged.episodes),
    )
    with pytest.raises(ResultFileError, match="between 0 and 100"):
        check_result(forged, "x")


def test_a_step_score_out_of_range_is_refused() -> None:
    """Step views have no aggregate of worldbench's that would give them away."""
    odd = available("visual_similarity", [50.0], step=(-1.0,))
    with pytest.raises(ResultFileError, match=r"wbgpu\.metrics\.visual_similarity\.step\[0\]"):
        check_result(suite([episode("a", [odd], num_steps=1)]), "x")


def test_native_units_have_no_range_but_must_agree() -> None:
    """130 dB is a PSNR, and no score."""
    batch = suite([episode("a", [available("psnr", [130.0, 128.0])])])
    check_result(batch, "x")
    payload = plain_json(batch_payload(batch))
    payload["wbgpu"]["aggregate"]["metrics"]["psnr"]["mean"] = 127.9
    with pytest.raises(ResultFileError, match=r"psnr\.mean: the file says 127\.9"):
        check_result(parse_result(payload, "x"), "x")


def test_a_failed_episode_that_has_scores_is_refused() -> None:
    """They would be left out of every number, and nobody would know."""
    batch = suite([*simple_suite({"a": [50.0]}).episodes, failed("b")])
    check_result(batch, "x")
    odd = replace(batch.episodes[1], score=50.0)
    with pytest.raises(ResultFileError, match="failed and yet has scores"):
        check_result(replace(batch, episodes=(batch.episodes[0], odd)), "x")


@pytest.mark.parametrize(
    ("keys", "json_path"),
    [
        (("score",), "$.score"),
        (("metrics", "visual_similarity", "score"), "$.metrics.visual_similarity.score"),
        (("horizon", "t+1", "metrics", "visual_similarity", "mean"),
         "$.horizon.t+1.metrics.visual_similarity.mean"),
    ],
)  # fmt: skip
def test_an_evaluation_that_contradicts_itself_is_refused(
    keys: tuple[str, ...], json_path: str
) -> None:
    """Its aggregates stand in other places than a batch's."""
    found = simple_suite({"a": [80.0, 60.0], "b": [50.0, 40.0]}, result_type="evaluation")
    document = plain_json(evaluation_payload(found))
    check_result(parse_result(document, "x"), "x")
    _edit(*keys, value=77.0)(document)
    if keys == ("score",):
        document["composite_score"] = 77.0
    with pytest.raises(ResultFileError) as caught:
        check_result(parse_result(document, "x"), "x")
    assert caught.value.json_path == json_path
