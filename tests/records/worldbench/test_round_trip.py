from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.records.golden import load, missing_from, plain_json, result
from tests.records.strategies import batches, evaluations
from wbgpu.aggregate.consistency import check_result
from wbgpu.records.suite import SuiteResult
from wbgpu.records.worldbench import batch_payload, evaluation_payload, parse_result

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
BATCHES = [
    f"batch_{peer}_{side}_skip{skip}.json.gz"
    for peer, skips in (("pypi", (0, 1)), ("pypi-noskimage", (0,)))
    for side in ("baseline", "candidate")
    for skip in skips
]


@QUICK
@given(batches())
def test_a_batch_comes_back_as_it_was_written(batch: SuiteResult) -> None:
    """What a file does not hold is lost to every later gate and report."""
    again = parse_result(plain_json(batch_payload(batch)), "batch.json")
    assert again == batch
    check_result(again, "batch.json")


@QUICK
@given(evaluations())
def test_an_evaluation_comes_back_as_it_was_written(evaluation: SuiteResult) -> None:
    """As for a batch."""
    again = parse_result(plain_json(evaluation_payload(evaluation)), "result.json")
    assert again == evaluation
    check_result(again, "result.json")


@QUICK
@given(batches())
def test_one_episode_of_a_batch_is_a_consistent_result_of_its_own(batch: SuiteResult) -> None:
    """Else our own file of one episode would be refused as damaged."""
    for episode in batch.episodes:
        if episode.failure is None:
            payload = plain_json(evaluation_payload(batch, episode))
            alone = parse_result(payload, "episode.json")
            assert alone.result_type == "evaluation"
            check_result(alone, "episode.json")
            assert alone.episodes[0].metrics == episode.metrics
            assert alone.summary.score == episode.score


OWN_WORDS = (".result_path", ".created_at", ".issues", ".main_failure", ".pairing_rule")
"""Places and remarks that each tool fills in its own way."""


@pytest.mark.parametrize("name", BATCHES)
def test_worldbenchs_batches_keep_every_key_and_value(shared: Path, name: str) -> None:
    """Reading and writing again must lose nothing that worldbench wrote but its prose."""
    original = load(shared / "golden/raw" / name)
    written = plain_json(batch_payload(parse_result(original, name)))
    different = [
        place
        for place in missing_from(original, written)
        if not any(key in place for key in OWN_WORDS)
    ]
    assert different == []


def test_worldbenchs_evaluations_keep_every_value(shared: Path) -> None:
    """Remarks and details of metrics that are not ours yet are the only loss."""
    files = sorted((shared / "golden/raw").glob("eval_*.json.gz"))
    assert len(files) > 30
    for file in files:
        original = load(file)
        written = plain_json(evaluation_payload(parse_result(original, file)))
        different = [
            place
            for place in missing_from(original, written)
            if ".details" not in place and not any(key in place for key in OWN_WORDS)
        ]
        assert different == [], file.name


def test_records_survive_from_every_file_of_worldbench(shared: Path) -> None:
    """Read, written and read again: the same record, remarks included."""
    files = [
        *(shared / "golden/raw").glob("*.json.gz"),
        *(shared / "data/worldbench_artifacts").rglob("*batch_result.json"),
        *(shared / "data/worldbench_artifacts").rglob("saved_video/result.json"),
        *(shared / "data/worldbench_artifacts").rglob("nanowm_rt1_episode0.json"),
    ]
    assert len(files) > 50
    for file in files:
        found = result(file)
        check_result(found, file)
        write = batch_payload if found.result_type == "batch_evaluation" else evaluation_payload
        again = parse_result(plain_json(write(found)), file)
        assert again.episodes == found.episodes, file.name
        assert again.summary == found.summary, file.name
