from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.records.golden import load, plain_json
from tests.records.results import available, episode, failed, simple_suite, suite
from wbgpu.aggregate.consistency import check_result
from wbgpu.errors import ResultFileError
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result


@pytest.fixture(scope="module")
def batch(shared: Path) -> str:
    return json.dumps(load(shared / "golden/raw/batch_pypi_candidate_skip0.json.gz"))


def _all_scores(value: float) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for entry in document["episodes"]:
            entry["score"] = entry["result"]["score"] = value
            entry["result"]["episodes"][0]["score"] = value

    return change


def _edit(*keys: Any, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def _twice(document: Any) -> None:
    document["episodes"][1] = copy.deepcopy(document["episodes"][0])
    document["episode_ids"][1] = document["episode_ids"][0]


def _nothing(document: Any) -> None:
    document["episodes"], document["episode_ids"] = [], []


def _prefix_score(document: Any) -> None:
    document["episodes"][0]["result"]["episodes"][0]["horizon"]["t+2"]["score"] = 1.0


def _whole_episode_less(document: Any) -> None:
    del document["episodes"][2], document["episode_ids"][2]


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
        (_edit("aggregate", "overall", "mean", value=99.0), "$.aggregate.overall.mean"),
        (_edit("aggregate", "overall", "mean", value=180.0), "$.aggregate.overall.mean"),
        (_edit("aggregate", "overall", "count", value=15), "$.aggregate.overall.count"),
        (_edit("aggregate", "overall", "count", value=0), "$.aggregate.overall"),
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
        (_edit("coverage", "available_metrics", value=["visual_similarity"]),
         f"{COVERAGE}.available_metrics"),
        (_edit("coverage", "metric_coverage", value=1.0), f"{COVERAGE}.metric_coverage"),
        (_edit("coverage", "configured_weight_coverage", value=1.0),
         f"{COVERAGE}.configured_weight_coverage"),
        (_edit("configured_weights", "visual_similarity", value=-1.0), "$.configured_weights"),
        (_edit("worst_episodes", 0, "score", value=99.0), "$.worst_episodes[0]"),
        (_edit("worst_episodes", 0, "episode_id", value="x"), "$.worst_episodes[0]"),
        (_edit("worst_episodes", value=[]), "$.worst_episodes"),
        (_prefix_score, "$.episodes[0].horizon.t+2.score"),
        (_twice, "$.episodes"),
        (_nothing, "$.episodes"),
        (_whole_episode_less, "$.aggregate.overall.count"),
    ],
)  # fmt: skip
def test_a_batch_that_contradicts_itself_is_refused_with_the_place(
    batch: str, change: Callable[[Any], None], json_path: str
) -> None:
    """worldbench's gate passes most of these."""
    document = json.loads(batch)
    change(document)
    with pytest.raises(ResultFileError) as caught:
        check_result(parse_result(document, "batch.json"), "batch.json")
    assert caught.value.json_path == json_path


def test_a_perfectly_consistent_forgery_out_of_range_is_refused() -> None:
    forged = simple_suite({"a": [101.0], "b": [101.0]})
    forged = replace(
        forged,
        episodes=tuple(replace(e, score=101.0, prefix_scores=(101.0,)) for e in forged.episodes),
    )
    with pytest.raises(ResultFileError, match="between 0 and 100"):
        check_result(forged, "x")


def test_a_step_score_out_of_range_is_refused() -> None:
    odd = available("visual_similarity", [50.0], step=(-1.0,))
    with pytest.raises(ResultFileError, match=r"\$.episodes\[0\].metrics.visual_similarity"):
        check_result(suite([episode("a", [odd], num_steps=1)]), "x")


def test_native_units_have_no_range_but_must_agree() -> None:
    batch = suite([episode("a", [available("psnr", [130.0, 128.0])])])
    check_result(batch, "x")
    payload = plain_json(batch_payload(batch))
    payload["wbgpu"]["aggregate"]["metrics"]["psnr"]["mean"] = 127.9
    with pytest.raises(ResultFileError, match=r"psnr\.mean: the file says 127\.9"):
        check_result(parse_result(payload, "x"), "x")


def test_a_failed_episode_that_has_scores_is_refused() -> None:
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
    found = simple_suite({"a": [80.0, 60.0], "b": [50.0, 40.0]}, result_type="evaluation")
    document = plain_json(evaluation_payload(found))
    check_result(parse_result(document, "x"), "x")
    _edit(*keys, value=77.0)(document)
    with pytest.raises(ResultFileError) as caught:
        check_result(parse_result(document, "x"), "x")
    assert caught.value.json_path == json_path
