"""Facts that a file states twice."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.records.golden import at, load, plain_json, put
from tests.records.results import available, episode, failed, suite, unsupported
from wbgpu.aggregate.consistency import check_result
from wbgpu.errors import ResultFileError
from wbgpu.records.suite import EpisodeResult, SuiteResult
from wbgpu.records.video import Alignment, VideoInfo
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result

VIDEO = VideoInfo("v", 6, 32, 48, 6.0, "h264", "yuv420p", None, None, 0, False, "decord", "cpu")
E0 = "$.episodes[0]"
INNER = f"{E0}.result.episodes[0]"
OWN = f"{E0}.wbgpu"


def _episode(name: str) -> EpisodeResult:
    outcomes = [
        available("visual_similarity", [60.0, 50.0], step=(60.0, 40.0)),
        available("temporal_stability", [None, 90.0]),
        unsupported("contact_realism"),
        available("psnr", [30.0, 25.0], step=(30.0, 20.0)),
    ]
    alignment = Alignment("strict", 4, 2, VIDEO, VIDEO)
    return replace(episode(name, outcomes), alignment=alignment)


@cache
def _document(kind: str) -> Any:
    if kind == "evaluation":
        return plain_json(evaluation_payload(suite([_episode("a")], result_type="evaluation")))
    return plain_json(batch_payload(suite([_episode("a"), failed("b")])))


def _load(document: Any) -> SuiteResult:
    result = parse_result(document, "x")
    check_result(result, "x")
    return result


def _refused(document: Any) -> str:
    with pytest.raises(ResultFileError) as caught:
        _load(document)
    at(document, caught.value.json_path)
    return caught.value.json_path


@pytest.mark.parametrize(
    ("kind", "json_path", "value", "place"),
    [
        ("batch", "$.wbgpu.skip_context", 0, None),
        ("batch", "$.skip_context", 0, "$.configuration.skip_context"),
        ("batch", "$.configuration.skip_context", 0, None),
        ("batch", "$.wbgpu.dataset_identifier", "sha256:ff", None),
        ("batch", "$.wbgpu.dataset_identifier", None, None),
        ("batch", "$.dataset_identifier", None, "$.wbgpu.dataset_identifier"),
        ("batch", "$.wbgpu.checkpoint_name", "other", None),
        ("both", "$.wbgpu.protocol.num_context", 0, None),
        ("both", "$.wbgpu.protocol", None, None),
        ("both", "$.wbgpu.protocol.metric_ids.visual_similarity", "visual_similarity/luma", None),
        ("both", "$.wbgpu.metrics.psnr.metric_id", "psnr/2", "$.wbgpu.protocol.metric_ids.psnr"),
        ("both", f"{OWN}.metrics.visual_similarity.metric_id", "visual_similarity/luma", None),
        ("both", f"{OWN}.metrics.psnr.metric_id", "psnr/2", None),
        ("both", "$.wbgpu.protocol.metric_ids", {}, None),
        ("both", "$.wbgpu.metrics.visual_similarity.unit", "dB", None),
        ("both", "$.wbgpu.metrics.visual_similarity.higher_is_better", False, None),
        ("both", f"{OWN}.alignment.num_context", 0, None),
        ("both", f"{OWN}.alignment.policy", "safe", None),
        ("both", f"{OWN}.alignment.num_steps", 9, None),
        ("batch", "$.episode_count", 1, None),
        ("both", "$.coverage.available_metric_count", 1, None),
        ("both", "$.coverage.configured_metric_count", 1, None),
        ("both", "$.coverage.effective_normalized_weights.visual_similarity", 0.9,
         "$.coverage.effective_normalized_weights"),
        ("both", "$.effective_normalized_weights.visual_similarity", 0.9,
         "$.coverage.effective_normalized_weights"),
        ("batch", "$.aggregate.composite_score.mean", 99.0, "$.aggregate.composite_score"),
        ("evaluation", "$.composite_score", 99.0, None),
        ("batch", f"{E0}.result.composite_score", 99.0, None),
        ("batch", f"{E0}.result.score", 99.0, None),
        ("batch", f"{E0}.metrics.visual_similarity.status", "unsupported",
         f"{E0}.result.metrics.visual_similarity.status"),
        ("batch", f"{E0}.result.metrics.contact_realism.status", "error", None),
        ("batch", f"{E0}.metrics", {}, None),
        ("batch", f"{E0}.result.metrics", {}, None),
        ("batch", f"{E0}.horizon", {}, f"{E0}.result.horizon"),
        ("batch", f"{E0}.result.horizon", {}, None),
        ("batch", f"{E0}.horizon.t+2.metrics.visual_similarity.mean", 99.0,
         f"{E0}.result.horizon"),
        ("batch", "$.episodes[1].metrics", {"visual_similarity": {"score": 1.0}}, None),
        ("batch", "$.episodes[1].horizon", {"t+1": {}}, None),
    ],
)  # fmt: skip
def test_a_fact_that_stands_twice_with_two_values_is_refused(
    kind: str, json_path: str, value: Any, place: str | None
) -> None:
    """A gate would trust one of the two, and which one is chance."""
    for each in ("batch", "evaluation") if kind == "both" else (kind,):
        document = copy.deepcopy(_document(each))
        _load(document)
        put(document, json_path, value)
        assert _refused(document) == (place or json_path)


def _drop(path: str, key: str) -> Callable[[Any], None]:
    return lambda document: at(document, path).pop(key)


def _same_horizons(document: Any) -> None:
    """Both outer copies are changed, and the scores of the episode are not."""
    for place in (f"{E0}.horizon", f"{E0}.result.horizon"):
        at(document, place)["t+2"]["metrics"]["visual_similarity"]["mean"] = 99.0


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (_drop("$.wbgpu", "protocol"), "$.wbgpu"),
        (_drop("$.wbgpu.protocol", "metric_ids"), "$.wbgpu.protocol"),
        (_drop("$.wbgpu.protocol.metric_ids", "visual_similarity"),
         "$.wbgpu.protocol.metric_ids"),
        (_drop("$.wbgpu", "skip_context"), "$.wbgpu"),
        (_drop(f"{OWN}.metrics", "visual_similarity"), f"{OWN}.metrics"),
        (_drop(f"{E0}.metrics", "temporal_stability"), f"{E0}.metrics"),
        (_drop(f"{INNER}.metrics", "contact_realism"), f"{INNER}.metrics"),
        (_drop(f"{INNER}.horizon.t+2.metrics", "visual_similarity"),
         f"{INNER}.horizon.t+2.metrics"),
        (_drop(f"{INNER}.horizon.t+1.unavailable_metrics", "temporal_stability"),
         f"{INNER}.horizon.t+1.unavailable_metrics"),
        (_same_horizons, f"{INNER}.horizon.t+2.metrics.visual_similarity.score"),
    ],
)  # fmt: skip
def test_what_only_one_of_two_places_has_is_refused(
    change: Callable[[Any], None], place: str
) -> None:
    """Deleting a definition is the simplest way to hide that it differs."""
    document = copy.deepcopy(_document("batch"))
    change(document)
    assert _refused(document) == place


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("$.aggregate.metrics", "$.wbgpu.aggregate.metrics"),
        ("$.horizon.t+2.metrics", "$.wbgpu.horizon.t+2.prefix"),
        ("$.horizon.t+1.unavailable_metrics", "$.wbgpu.horizon.t+1.unavailable_metrics"),
    ],
)
def test_the_extension_cannot_stand_in_for_worldbenchs_keys(theirs: str, ours: str) -> None:
    """The two tools would read two numbers out of one file."""
    document = copy.deepcopy(_document("batch"))
    name = next(iter(at(document, theirs)))
    at(document, ours)[name] = copy.deepcopy(at(document, theirs)[name])
    assert _refused(document) == ours


def test_a_file_of_worldbench_that_was_saved_again_needs_no_protocol(shared: Path) -> None:
    """Its protocol is not known; but its definitions cannot be others than worldbench's."""
    raw = shared / "golden/raw/batch_pypi_baseline_skip0.json.gz"
    document = plain_json(batch_payload(parse_result(load(raw), raw)))
    assert _load(document).protocol is None
    place = "$.wbgpu.metrics.visual_similarity.metric_id"
    put(document, place, "visual_similarity/luma")
    assert _refused(document) == place


def test_every_file_of_worldbench_agrees_with_itself(shared: Path) -> None:
    """A rule that its real files break would shut out its users."""
    count = 0
    for file in [*shared.glob("golden/raw/*.json.gz"), *shared.glob("data/**/*.json")]:
        document = load(file)
        kinds = ("batch_evaluation", "evaluation")
        if isinstance(document, dict) and document.get("result_type") in kinds:
            check_result(parse_result(document, file), file)
            count += 1
    assert count >= 50
