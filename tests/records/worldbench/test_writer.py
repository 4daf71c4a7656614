from __future__ import annotations

from pathlib import Path

from tests.records.golden import load, plain_json
from tests.records.results import available, episode, failed, simple_suite, suite, unsupported
from wbgpu.records.worldbench import batch_payload, evaluation_payload


def test_p06_an_evaluation_states_its_kind_version_and_score() -> None:
    payload = evaluation_payload(simple_suite({"a": [60.0, 50.0]}, result_type="evaluation"))
    assert payload["result_type"] == "evaluation"
    assert payload["schema_version"] == "2"
    assert payload["composite_score"] == payload["score"] == 50.0


def test_p03_p04_p08_horizons_of_an_episode_and_of_the_suite() -> None:
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
    batch = suite([*simple_suite({"a": [50.0]}).episodes, failed("b", "b.mp4: truncated")])
    payload = batch_payload(batch)
    assert payload["episode_ids"] == ["a", "b"]
    assert payload["episodes"][1]["score"] is None
    assert payload["episodes"][1]["issues"] == ["VideoError: b.mp4: truncated"]
    assert payload["aggregate"]["overall"]["count"] == 1


def test_p38_the_path_of_an_episodes_own_file_is_recorded() -> None:
    payload = batch_payload(simple_suite({"a": [50.0]}), {"a": "run/episodes/a.json"})
    assert payload["episodes"][0]["result_path"] == "run/episodes/a.json"


def test_gate_settings_of_the_project_are_recorded() -> None:
    payload = batch_payload(simple_suite({"a": [50.0]}), gate={"max_metric_drop": 2.0})
    assert payload["configuration"]["gate"]["max_metric_drop"] == 2.0
    assert payload["configuration"]["gate"]["min_metric_count"] == 1


def test_p16_demo_notices_are_marked() -> None:
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
