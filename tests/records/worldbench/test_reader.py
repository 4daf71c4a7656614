from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.records.golden import load, plain_json, result
from tests.records.results import failed, simple_suite, suite
from wbgpu.errors import ResultFileError
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result


@pytest.fixture(scope="module")
def batch(shared: Path) -> dict[str, Any]:
    document: dict[str, Any] = load(shared / "golden/raw/batch_pypi_baseline_skip0.json.gz")
    return document


def _delete(*keys: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return change


def _set(value: Any, *keys: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "json_path", "reason"),
    [
        (_delete("result_type"), "$", "'result_type' is missing"),
        (_set("gate_comparison", "result_type"), "$.result_type", "gate_comparison"),
        (_set(3, "result_type"), "$.result_type", "expected a string"),
        (_delete("schema_version"), "$", "'schema_version' is missing"),
        (_set("999", "schema_version"), "$.schema_version", "unknown schema version '999'"),
        (_set(2, "schema_version"), "$.schema_version", "expected a string, got 2"),
        (_delete("aggregate"), "$", "'aggregate' is missing"),
        (_set([], "aggregate"), "$.aggregate", "expected an object, got a list"),
        (_set({}, "episodes"), "$.episodes", "expected a list, got an object"),
        (_set("x", "episodes", 2), "$.episodes[2]", "expected an object, got a string"),
        (_set(True, "episodes", 1, "score"), "$.episodes[1].score", "expected a number, got True"),
        (_set("9", "episodes", 1, "score"), "$.episodes[1].score", "expected a number"),
        (_set(10**400, "episodes", 1, "score"), "$.episodes[1].score", "at most 1e+100"),
        (_delete("episodes", 0, "result"), "$.episodes[0]", "'result' is missing"),
        (_set([], "episodes", 0, "result", "episodes"), "$.episodes[0].result.episodes", "one"),
        (_set(True, "aggregate", "overall", "mean"), "$.aggregate.overall.mean", "a number"),
        (_set(1.5, "aggregate", "overall", "count"), "$.aggregate.overall.count", "an integer"),
        (_set(-1, "skip_context"), "$.skip_context", ">= 0"),
        (_set("fine", "aggregate", "metrics", "visual_similarity", "status"),
         "$.aggregate.metrics.visual_similarity.status", "'available' or"),
        (_delete("horizon", "t+7"), "$.horizon", "without a gap"),
        (_set({}, "horizon", "later"), "$.horizon", "'later'"),
        (_set(-1.0, "configured_weights", "visual_similarity"),
         "$.configured_weights.visual_similarity", "expected a weight >= 0, got -1.0"),
        (_set(["a"], "episode_ids"), "$.episode_ids", "ids"),
        (_set(None, "checkpoint_name"), "$.checkpoint_name", "got null"),
        (_set("wide", "episodes", 0, "result", "provenance", "alignment",
              "ground_truth_original_resolution"),
         "$.episodes[0].result.provenance.alignment.ground_truth_original_resolution", "WIDTH"),
    ],
)  # fmt: skip
def test_a_broken_batch_is_an_error_that_names_the_place(
    batch: dict[str, Any], change: Callable[[Any], None], json_path: str, reason: str
) -> None:
    """worldbench crashes on most of these, with the exit code of FAIL."""
    broken = copy.deepcopy(batch)
    change(broken)
    with pytest.raises(ResultFileError) as caught:
        parse_result(broken, "batch.json")
    assert caught.value.json_path == json_path
    assert reason in caught.value.reason


@pytest.mark.parametrize("document", [[], None, 3, "text", [{}]])
def test_a_document_that_is_no_object_is_an_error(document: Any) -> None:
    """worldbench's gate crashes on a list, with the exit code of FAIL."""
    with pytest.raises(ResultFileError, match=r"x\.json: expected an object"):
        parse_result(document, "x.json")


@pytest.mark.parametrize(("key", "value"), [("score", 12.0), ("score", None)])
def test_a_number_stated_twice_with_two_values_is_refused(
    batch: dict[str, Any], key: str, value: Any
) -> None:
    """An edited copy must not hide behind the other one."""
    broken = copy.deepcopy(batch)
    broken["episodes"][3][key] = value
    with pytest.raises(ResultFileError, match=r"\$.episodes\[3\].score says"):
        parse_result(broken, "batch.json")
    broken = copy.deepcopy(batch)
    broken["episodes"][3]["result"]["episodes"][0]["metrics"]["visual_similarity"][key] = value
    with pytest.raises(ResultFileError):
        parse_result(broken, "batch.json")


@pytest.mark.parametrize("kind", ["batch", "evaluation"])
def test_p59_an_unknown_schema_version_is_rejected(
    shared: Path, batch: dict[str, Any], kind: str
) -> None:
    """Keys of a later version may mean something else."""
    document = batch
    if kind == "evaluation":
        document = load(shared / "golden/raw/eval_pypi_png_full_predictions.json.gz")
    with pytest.raises(ResultFileError, match=r"schema_version: unknown schema version '999'"):
        parse_result({**document, "schema_version": "999"}, "x.json")


def test_p68_an_evaluation_older_than_the_schema_loads(shared: Path) -> None:
    """Published results have no result_type and no version."""
    old = result(shared / "data/worldbench_artifacts/real_model_eval/nanowm_rt1_episode0.json")
    assert old.result_type == "evaluation"
    assert old.schema_version == "1"
    assert old.summary.score == pytest.approx(92.39024104284573, abs=1e-12)
    assert old.summary.coverage.effective_normalized_weights == pytest.approx(
        {"visual_similarity": 5 / 9, "temporal_stability": 4 / 9}
    )
    assert old.checkpoint_name == "knightnemo/nanowm-b2-rt1-300k"
    assert old.episodes[0].metrics["action_consistency"].status == "unsupported"


def test_p45_schema_1_batches_get_worldbenchs_default_weights(shared: Path) -> None:
    """They state no weights; equal ones would give another composite than worldbench's."""
    old = result(
        shared / "data/worldbench_artifacts/checkpoint_validation/baseline_batch_result.json"
    )
    assert old.configuration_hash is None
    assert old.dataset_identifier is None
    assert old.configured_weights["action_consistency"] == 0.3
    assert old.summary.coverage.configured_weight_coverage == 0.45
    assert old.num_context == 4


def test_per_step_facts_of_a_worldbench_file_are_read(shared: Path) -> None:
    """Reasons change along the horizon, and details stand in columns, one entry a prefix."""
    found = result(shared / "golden/raw/batch_pypi_baseline_skip1.json.gz")
    by_id = {episode.episode_id: episode for episode in found.episodes}
    two = by_id["ep09_two_64x48_t2.mp4"]
    assert two.num_steps == 1
    temporal = two.metrics["temporal_stability"]
    assert (temporal.value, temporal.prefix) == (0.0, (None,))
    assert "transition" in (temporal.prefix_reason_at(1) or "")
    action = by_id["ep12_cut_256x256_t32.mp4"].metrics["action_consistency"]
    assert action.prefix == ()
    assert action.prefix_reasons[0] != action.prefix_reasons[1]
    visual = by_id["ep12_cut_256x256_t32.mp4"].metrics["visual_similarity"]
    scores = {"mse_score", "psnr_score", "ssim_score"}
    assert set(visual.prefix_details) == {"mse", "psnr", "ssim"} | scores
    assert len(visual.prefix_details["mse"]) == 31
    alignment = two.alignment
    assert alignment is not None
    assert (alignment.num_context, alignment.target.num_frames) == (1, 2)
    assert found.producer == "worldbench 0.4.1"


def test_an_episode_on_which_nothing_was_measured_has_no_score(shared: Path) -> None:
    """worldbench writes 0; missing is not zero."""
    document = load(shared / "golden/raw/eval_pypi_png_full_predictions.json.gz")
    for metric in document["metrics"].values():
        metric.update(score=None, status="unsupported", reason="none")
    document["score"] = document["composite_score"] = 0.0
    for episode in document["episodes"]:
        episode["score"] = 0.0
        episode["horizon"] = {}
        for metric in episode["metrics"].values():
            metric.update(score=None, status="unsupported", reason="none")
    found = parse_result(document, "x.json")
    assert found.summary.score is None
    assert {episode.score for episode in found.episodes} == {None}


def test_p02_p07_p17_a_pair_of_videos_supports_two_metrics_of_five(shared: Path) -> None:
    """The others are N/A and not 0, in every episode and in the coverage."""
    found = result(shared / "golden/raw/batch_pypi_baseline_skip0.json.gz")
    supported = {"visual_similarity", "temporal_stability"}
    for episode in found.episodes:
        assert {name for name, m in episode.metrics.items() if m.is_available} == supported
        others = [m for name, m in episode.metrics.items() if name not in supported]
        assert [(m.status, m.value) for m in others] == [("unsupported", None)] * 3
        assert all(m.reason for m in others)
    assert set(found.summary.coverage.available_metrics) == supported
    assert found.summary.coverage.configured_weight_coverage == 0.45


def test_p36_hash_and_dataset_identifier_are_read(shared: Path) -> None:
    """Without them two suites of one shape could be compared."""
    found = result(shared / "golden/raw/batch_pypi_baseline_skip0.json.gz")
    assert found.configuration_hash is not None
    assert len(found.configuration_hash) == 64
    assert (found.dataset_identifier or "").startswith("sha256:")


def test_a_failed_episode_comes_back_with_its_cause() -> None:
    """Lost on reading, the gate could not tell a failure from an episode never asked for."""
    batch = suite([*simple_suite({"a": [50.0]}).episodes, failed("b", "b.mp4: truncated")])
    again = parse_result(plain_json(batch_payload(batch)), "batch.json")
    assert again.failed_episodes[0].episode_id == "b"
    assert again.failed_episodes == batch.failed_episodes


def test_our_evaluation_with_a_missing_extension_key_is_an_error() -> None:
    """Read as a file of worldbench, dB would become scores."""
    payload = plain_json(evaluation_payload(simple_suite({"a": [50.0]}, result_type="evaluation")))
    del payload["wbgpu"]["metrics"]
    with pytest.raises(ResultFileError, match=r"\$.wbgpu: the key 'metrics' is missing"):
        parse_result(payload, "result.json")
