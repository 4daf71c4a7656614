from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.golden import load, plain_json
from tests.records.results import available, episode, failed, simple_suite, suite, unsupported
from wbgpu.records.worldbench import batch_payload, evaluation_payload


def test_p06_an_evaluation_states_its_kind_version_and_score() -> None:
    """worldbench looks at the three before anything else."""
    payload = evaluation_payload(simple_suite({"a": [60.0, 50.0]}, result_type="evaluation"))
    assert payload["result_type"] == "evaluation"
    assert payload["schema_version"] == "2"
    assert payload["composite_score"] == payload["score"] == 50.0


def test_p03_p04_p08_horizons_of_an_episode_and_of_the_suite() -> None:
    """Single scores in the one, distributions in the other, and what is missing in neither."""
    temporal = available("temporal_stability", [None, 90.0])
    batch = suite(
        [
            episode("a", [available("visual_similarity", [60.0, 50.0]), temporal]),
            episode("b", [available("visual_similarity", [80.0, 70.0]), temporal]),
        ]
    )
    payload = batch_payload(batch)
    assert list(payload["horizon"]) == ["t+1", "t+2"]
    first = payload["horizon"]["t+1"]
    assert first["metrics"]["visual_similarity"]["mean"] == 70.0
    assert first["metrics"]["visual_similarity"]["count"] == 2
    assert "temporal_stability" not in first["metrics"]
    assert first["unavailable_metrics"]["temporal_stability"] == {
        "count": 2,
        "reasons": ["too short"],
    }
    single = payload["episodes"][0]["result"]["episodes"][0]["horizon"]["t+1"]
    assert single["sample_count"] == 1
    assert single["mode"] == "cumulative_prefix"
    assert single["metrics"]["visual_similarity"]["score"] == 60.0
    assert single["unavailable_metrics"]["temporal_stability"]["reason"] == "too short"


def test_horizons_of_a_nested_episode_are_those_of_its_own_file() -> None:
    """They are written without its summary, and must not say something else than with it."""
    outcomes = [
        available("visual_similarity", [60.0, None, 50.0]),
        available("temporal_stability", [None, 90.0, 80.0]),
        available("psnr", [30.0, 28.0, 27.0]),
        unsupported("contact_realism"),
    ]
    batch = suite([episode("a", outcomes, num_steps=3), episode("b", outcomes[:1], num_steps=3)])
    nested = [entry["result"]["horizon"] for entry in batch_payload(batch)["episodes"]]
    assert nested == [evaluation_payload(batch, one)["horizon"] for one in batch.episodes]
    assert [*nested[0]["t+1"]["metrics"]] == ["visual_similarity"]


def test_metrics_outside_the_composite_stand_only_in_the_extension() -> None:
    """worldbench's gate would take 28 dB for a score of 28 points."""
    psnr = available("psnr", [30.0, 28.0], step=(30.0, 26.0))
    batch = suite([episode("a", [available("visual_similarity", [60.0, 50.0]), psnr])])
    payload = plain_json(batch_payload(batch))
    own = payload["wbgpu"]
    assert own["aggregate"]["metrics"]["psnr"]["mean"] == 28.0
    assert own["horizon"]["t+2"]["step"]["psnr"]["mean"] == 26.0
    assert payload["episodes"][0]["wbgpu"]["metrics"]["psnr"]["step"] == [30.0, 26.0]
    without = {k: v for k, v in payload.items() if k != "wbgpu"}
    for entry in without["episodes"]:
        del entry["wbgpu"]
    assert "psnr" not in str(without)


def test_a_metric_in_error_is_no_score_in_worldbenchs_keys() -> None:
    """worldbench 0.4.1 knows no status 'error' and refuses a file that holds one."""
    broken = unsupported("temporal_stability", "boom", status="error", error_type="ValueError")
    payload = evaluation_payload(
        suite(
            [episode("a", [available("visual_similarity", [60.0]), broken], num_steps=1)],
            result_type="evaluation",
        )
    )
    entry = payload["metrics"]["temporal_stability"]
    assert (entry["status"], entry["error_type"]) == ("unsupported", "ValueError")


def test_a_failed_episode_is_listed_without_a_score() -> None:
    """Left out, the episode sets of two results would differ; scored 0, the mean would lie."""
    batch = suite([*simple_suite({"a": [50.0]}).episodes, failed("b", "b.mp4: truncated")])
    payload = batch_payload(batch)
    assert payload["episode_ids"] == ["a", "b"]
    assert payload["episodes"][1]["score"] is None
    assert payload["episodes"][1]["issues"] == ["VideoError: b.mp4: truncated"]
    assert payload["aggregate"]["overall"]["count"] == 1


def test_a_result_is_not_written_as_what_it_is_not() -> None:
    """An evaluation under the name of a batch has an overall that its gate would trust."""
    batch = simple_suite({"a": [50.0], "b": [60.0]})
    evaluation = simple_suite({"a": [50.0]}, result_type="evaluation")
    with pytest.raises(ValueError, match="expected type 'batch_evaluation', got 'evaluation'"):
        batch_payload(evaluation)
    with pytest.raises(ValueError, match="expected type 'evaluation', got 'batch_evaluation'"):
        evaluation_payload(batch)
    assert evaluation_payload(batch, batch.episodes[0])["result_type"] == "evaluation"


def test_the_pairing_rule_is_the_one_that_paired() -> None:
    """worldbench's sentence says equal paths; here a.mp4 also pairs with a.mkv."""
    assert "extensions may differ" in batch_payload(simple_suite({"a": [50.0]}))["pairing_rule"]


def test_p36_hash_and_dataset_identifier_are_written() -> None:
    """Without them a gate cannot tell that two suites are the same."""
    payload = batch_payload(simple_suite({"a": [50.0]}))
    assert len(payload["configuration_hash"]) == 64
    assert payload["dataset_identifier"] == "sha256:00"


def test_remarks_stand_in_the_whole_episodes_entry_alone() -> None:
    """They are of the whole episode; repeated at a horizon they would say what is not known."""
    weak = available("visual_similarity", [80.0, 50.0], issues=("Frames differ.",))
    payload = evaluation_payload(suite([episode("a", [weak])], result_type="evaluation"))
    entry = payload["episodes"][0]
    assert entry["metrics"]["visual_similarity"]["issues"] == ["Frames differ."]
    assert entry["issues"] == ["Frames differ."]
    prefixes = [h["metrics"]["visual_similarity"]["issues"] for h in entry["horizon"].values()]
    assert prefixes == [[], []]


def test_p38_the_path_of_an_episodes_own_file_is_recorded() -> None:
    """It leads from the suite to the one episode that needs a look."""
    payload = batch_payload(simple_suite({"a": [50.0]}), {"a": "run/episodes/a.json"})
    assert payload["episodes"][0]["result_path"] == "run/episodes/a.json"


def test_gate_settings_of_the_project_are_recorded() -> None:
    """Those that the file sets, and worldbench's defaults for the rest."""
    payload = batch_payload(simple_suite({"a": [50.0]}), gate={"max_metric_drop": 2.0})
    assert payload["configuration"]["gate"]["max_metric_drop"] == 2.0
    assert payload["configuration"]["gate"]["min_metric_count"] == 1


def test_p16_demo_notices_are_marked() -> None:
    """A drawn demo must not be taken for a result."""
    demo = simple_suite({"a": [50.0]}, result_type="evaluation", notes=("Not a result.",))
    provenance = evaluation_payload(demo)["provenance"]
    assert provenance["demo"] is True
    assert provenance["demo_notice"] == ["Not a result."]


def test_p16_provenance_of_a_safe_alignment_has_worldbenchs_keys(shared: Path) -> None:
    """The keys that eval-videos writes, compared with its own file."""
    from tests.records.golden import result

    file = shared / "data/worldbench_artifacts/fixtures_v0_4_1/saved_video/result.json"
    original = load(file)["provenance"]
    written = plain_json(evaluation_payload(result(file)))["provenance"]
    assert set(original) <= set(written)
    different = {key for key in original if original[key] != written[key]}
    assert different <= {"created_at", "name"}
