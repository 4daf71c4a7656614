"""``wbgpu verify-run``: what it catches, and its exit codes."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from tests.records.golden import load, put
from tests.records.regret_results import regret_result
from wbgpu.cli.main import run
from wbgpu.records.worldbench import parse_result
from wbgpu.sdk import evaluate, save_result, verify_run
from wbgpu.video.encode import write_video as encode


def write_video(path, shades):
    """Frames of one shade with a square that moves."""
    frames = np.empty((len(shades), 32, 32, 3), np.uint8)
    for index, shade in enumerate(shades):
        frames[index] = shade
        frames[index, 8:16, 2 * index : 2 * index + 8] = 200
    encode(path, frames, 5)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Two episodes and their result, which is not to be changed."""
    folder = tmp_path_factory.mktemp("suite")
    for index, name in enumerate(("a.mp4", "scene/b.mp4")):
        for shade, side in ((60, "gt"), (70, "pred")):
            path = folder / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_video(path, [shade + 10 * index + 3 * step for step in range(5)])
    result = evaluate(folder / "gt", folder / "pred", num_context=1)
    save_result(result, folder / "result.json")
    return folder


@pytest.fixture
def copy(suite, tmp_path):
    """A copy that may be changed, and whose paths lead nowhere else."""
    for side in ("gt", "pred"):
        shutil.copytree(suite / side, tmp_path / side)
    text = (suite / "result.json").read_text().replace(str(suite), str(tmp_path))
    (tmp_path / "result.json").write_text(text)
    return tmp_path


def verify(folder, *arguments):
    roots = ("--ground-truth", str(folder / "gt"), "--predictions", str(folder / "pred"))
    return run(["verify-run", str(folder / "result.json"), *roots, *arguments])


def change(folder, path, value):
    document = json.loads((folder / "result.json").read_text())
    put(document, path, value)
    (folder / "result.json").write_text(json.dumps(document))


def test_an_untouched_result_is_verified(suite, capsys):
    assert run(["verify-run", str(suite / "result.json"), "--recompute", "9"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("VERIFIED\n")
    assert "14 of 14 checks verified" in output


def test_one_changed_byte_of_a_video_is_found(suite, copy, capsys):
    result = (suite / "result.json").read_text()
    (copy / "result.json").write_text(result)
    assert verify(copy) == 0
    video = copy / "pred/scene/b.mp4"
    data = bytearray(video.read_bytes())
    data[len(data) // 2] ^= 1
    video.write_bytes(bytes(data))
    assert verify(copy) == 1
    assert "Failed: prediction/scene/b.mp4" in capsys.readouterr().out


def test_other_ground_truth_is_found_twice(suite, copy, capsys):
    (copy / "result.json").write_text((suite / "result.json").read_text())
    write_video(copy / "gt/a.mp4", [1, 2, 3, 4, 5])
    assert verify(copy) == 1
    output = capsys.readouterr().out
    assert "Failed: ground_truth/a.mp4" in output
    assert "Failed: dataset_identifier" in output


def test_a_missing_video_is_found(suite, copy, capsys):
    (copy / "result.json").write_text((suite / "result.json").read_text())
    (copy / "gt/a.mp4").unlink()
    assert verify(copy) == 1
    assert "No such file" in capsys.readouterr().out


def test_a_result_that_has_moved_is_partial_in_one_line(suite, copy, capsys):
    """Whoever runs it from another folder has not forged twenty videos."""
    (copy / "result.json").write_text((suite / "result.json").read_text())
    for side in ("gt", "pred"):
        shutil.move(suite / side, suite / f"{side}_moved")
    try:
        result = str(copy / "result.json")
        assert run(["verify-run", result, "--recompute", "1"]) == 3
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "PARTIAL"
        (line,) = [text for text in lines if "is found, such as" in text]
        assert "none of 4 files" in line
        assert "say with --ground-truth and --predictions" in line
        assert run(["verify-run", result, "--ground-truth", str(copy / "gt")]) == 3
        assert "none of 2 files" in capsys.readouterr().out
        # Where they were said to be, they have to be.
        assert verify(copy, "--logits", "x") == 0
        wrong = ["--ground-truth", str(copy / "gt"), "--predictions", str(copy / "nowhere")]
        assert run(["verify-run", result, *wrong]) == 1
        assert "nowhere the right folder?" in capsys.readouterr().out
    finally:
        for side in ("gt", "pred"):
            shutil.move(suite / f"{side}_moved", suite / side)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_computing_again_names_the_users_files(suite, copy, capsys, damage):
    """A path below a temporary folder names nothing that is still there."""
    (copy / "result.json").write_text((suite / "result.json").read_text())
    video = copy / "pred/a.mp4"
    data = video.read_bytes()
    video.unlink()
    if damage == "cut":
        video.write_bytes(data[: len(data) // 3])
    assert verify(copy, "--recompute", "2") == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = [text for text in lines if text.startswith("Failed: recompute")]
    assert str(video) in line
    assert "wbgpu-verify" not in line


def test_what_was_edited_is_said_in_words(suite, copy, capsys):
    """Two digests tell nobody what happened."""
    (copy / "result.json").write_text((suite / "result.json").read_text())
    change(copy, "$.wbgpu.provenance.decoder", "decord")
    verify(copy)
    assert "a version was edited after the file was written" in capsys.readouterr().out
    (copy / "result.json").write_text((suite / "result.json").read_text())
    change(copy, "$.aggregate.metrics.visual_similarity.error_count", 1)
    verify(copy)
    output = capsys.readouterr().out
    assert "Failed: copies: an entry was edited after the file was written: $.aggregate" in output


@pytest.mark.parametrize(
    ("path", "value", "subject"),
    [
        ("$.episodes[0].score", 99.5, "file"),
        ("$.episodes[0].metrics.visual_similarity.score", 99.5, "file"),
        ("$.episodes[0].wbgpu.metrics.psnr.value", 99.5, "scores"),
        ("$.aggregate.metrics.visual_similarity.mean", 99.5, "scores"),
        ("$.wbgpu.skip_context", 2, "file"),
        ("$.wbgpu.protocol.num_context", 2, "file"),
        ("$.wbgpu.provenance.configuration.suite.num_context", 2, "context frames"),
        ("$.wbgpu.provenance.configuration.suite.alignment", "safe", "settings"),
        ("$.wbgpu.provenance.environment.torch", "0.1", "settings"),
        ("$.wbgpu.provenance.decoder", "decord", "settings"),
        ("$.wbgpu.metrics.psnr.metric_id", "psnr/other-2.0", "file"),
        ("$.configuration_hash", "0" * 64, "configuration_hash"),
        ("$.configuration.metrics.visual_similarity.weight", 0.9, "copies"),
        ("$.episodes[0].result.configured_weights.visual_similarity", 0.9, "copies"),
        ("$.aggregate.metrics.visual_similarity.error_count", 1, "copies"),
    ],
)
def test_a_changed_score_or_setting_is_found(suite, copy, capsys, path, value, subject):
    (copy / "result.json").write_text((suite / "result.json").read_text())
    change(copy, path, value)
    code = verify(copy)
    output = capsys.readouterr().out
    assert code == 1
    assert f"Failed: {subject}:" in output


def test_a_consistent_lie_is_found_by_computing_again(suite, copy, capsys):
    """Scores of other videos, with aggregates, hashes and digests that fit: only frames tell."""
    honest = json.loads((suite / "result.json").read_text())
    for name in ("a.mp4", "scene/b.mp4"):
        write_video(copy / "pred" / name, [60 + 3 * step for step in range(5)])
    lie = evaluate(copy / "gt", copy / "pred", num_context=1)
    save_result(lie, copy / "result.json")
    document = json.loads((copy / "result.json").read_text())
    for side in ("gt", "pred"):
        shutil.rmtree(copy / side)
        shutil.copytree(suite / side, copy / side)
    digests = honest["wbgpu"]["provenance"]["input_sha256"]
    document["wbgpu"]["provenance"]["input_sha256"] = digests
    # Written anew, so that seal and copies fit too.
    save_result(parse_result(document, "lie"), copy / "result.json")
    assert verify(copy) == 0
    assert verify(copy, "--recompute", "1", "--seed", "3") == 1
    assert "Failed: recompute/" in capsys.readouterr().out


def test_changed_supporting_numbers_are_found_by_computing_again(suite, copy, capsys):
    """PSNR and SSIM below a score are what people quote, and stand in the file once."""
    (copy / "result.json").write_text((suite / "result.json").read_text())
    details = "$.episodes[0].wbgpu.metrics.psnr.prefix_details.psnr_of_mean_mse[0]"
    change(copy, details, 99.0)
    assert verify(copy, "--recompute", "2") == 1
    assert "psnr, psnr_of_mean_mse 1: 99.0 in the file" in capsys.readouterr().out


def test_the_seed_chooses_the_episodes(suite):
    chosen = {
        check.subject
        for seed in range(8)
        for check in verify_run(suite / "result.json", num_recomputed=1, seed=seed).checks
        if check.subject.startswith("recompute/")
    }
    assert chosen == {"recompute/a.mp4", "recompute/scene/b.mp4"}


def test_a_malformed_digest_fails(suite, copy, capsys):
    (copy / "result.json").write_text((suite / "result.json").read_text())
    document = json.loads((copy / "result.json").read_text())
    document["wbgpu"]["provenance"]["input_sha256"]["prediction/a.mp4"] = "abc"
    (copy / "result.json").write_text(json.dumps(document))
    assert verify(copy) == 1
    assert "the recorded digest is none: 'abc'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"result_type": "batch_evaluation", "schema_version": "999"}']
)
def test_what_is_no_result_exits_with_2(tmp_path, capsys, text):
    (tmp_path / "result.json").write_text(text)
    assert run(["verify-run", str(tmp_path / "result.json")]) == 2
    assert capsys.readouterr().out.startswith("NOT VERIFIABLE")


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("wbgpu.verification.document.MAX_BYTES", 10)
    (tmp_path / "result.json").write_text('{"result_type": "batch_evaluation"}')
    assert run(["verify-run", str(tmp_path / "result.json")]) == 2
    assert "at most 10" in capsys.readouterr().out


def test_a_file_calls_no_function(copy, monkeypatch, capsys):
    """Reading a result that names one as its layout would start a download."""
    called = []
    monkeypatch.setattr(
        "wbgpu.episodes.lerobot.download.download", lambda **_: called.append("download")
    )
    layout = {"_target_": "wbgpu.episodes.lerobot.download.download", "repo_id": "a/b"}
    change(copy, "$.wbgpu.provenance.configuration.suite.layout", layout)
    assert verify(copy) == 1
    assert "settings_sha256" in capsys.readouterr().out
    assert not called


def test_recorded_paths_with_dots_are_not_followed(suite, copy, capsys):
    """A result from outside must not choose which files of ours are read."""
    text = (suite / "result.json").read_text()
    (copy / "result.json").write_text(text.replace(f"{suite}/gt", f"{copy}/x/../gt"))
    assert run(["verify-run", str(copy / "result.json"), "--predictions", str(copy / "pred")]) != 0
    output = capsys.readouterr().out
    assert "is not followed; say where with --ground-truth" in output
    document = json.loads(text)
    document["episodes"][0]["prediction_path"] = f"{suite}/pred/../../secret.mp4"
    document["wbgpu"].pop("settings_sha256")
    (copy / "result.json").write_text(json.dumps(document))
    verify(copy)
    assert "secret.mp4' has '..' in it" in capsys.readouterr().out


def test_old_files_and_worldbenchs_are_partial(shared, capsys):
    """They do not say enough; nothing in them is wrong."""
    folder = shared / "data/worldbench_artifacts/checkpoint_validation"
    assert run(["verify-run", str(folder / "baseline_batch_result.json")]) == 3
    assert capsys.readouterr().out.startswith("PARTIAL")


def test_digests_of_worldbenchs_newer_files_are_checked(shared, tmp_path, capsys):
    document = load(shared / "golden/raw/batch_snap_baseline_skip0.json.gz")
    path = tmp_path / "batch.json"
    roots = (
        "--ground-truth",
        str(shared / "golden/gt"),
        "--predictions",
        str(shared / "golden/baseline"),
    )
    path.write_text(json.dumps(document))
    code = run(["verify-run", str(path), *roots, "--json"])
    found = json.loads(capsys.readouterr().out)
    verified = [c for c in found["checks"] if c["status"] == "verified" and "/" in c["subject"]]
    assert (code, len(verified)) == (3, 32)


def test_regret_is_partial_and_a_changed_loss_fails(tmp_path, capsys):
    path = tmp_path / "regret.json"
    save_result(regret_result("kt"), path)
    assert run(["verify-run", str(path)]) == 3
    document = json.loads(path.read_text())
    document["seeds"][0]["step_regret_nats"][0] += 1.0
    path.write_text(json.dumps(document))
    assert run(["verify-run", str(path)]) == 1


def test_a_run_folder_will_do(suite, tmp_path):
    shutil.copy(suite / "result.json", tmp_path / "batch.json")
    assert verify_run(tmp_path).status == "VERIFIED"


def test_wrong_usage(suite, capsys):
    assert run(["verify-run", str(suite / "result.json"), "--recompute", "-1"]) == 2
    assert "--recompute" in capsys.readouterr().err


def test_saved_logits_are_checked_too(suite, copy, capsys):
    """Another file, and other target tokens under a digest that somebody renewed."""
    from safetensors.torch import save_file

    from tests.evaluation.saved_logits import make_tensors

    for seed, name in enumerate(("a", "scene/b")):
        path = copy / f"logits/{name}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(make_tensors(seed), path)
    for side in ("gt", "pred"):
        shutil.rmtree(copy / side)
        shutil.copytree(suite / side, copy / side)
    result = evaluate(
        copy / "gt", copy / "pred", num_context=1, overrides=[f"suite.logits={copy / 'logits'}"]
    )
    save_result(result, copy / "result.json")
    assert verify(copy, "--recompute", "2") == 0
    save_file(make_tensors(7), copy / "logits/a.safetensors")
    assert verify(copy) == 1
    assert "Failed: logits/a.mp4" in capsys.readouterr().out
    assert verify(copy, "--recompute", "2") == 1
    assert "Failed: recompute/a.mp4: log_loss" in capsys.readouterr().out
    moved = copy / "elsewhere"
    (copy / "logits").rename(moved)
    save_file(make_tensors(0), moved / "a.safetensors")
    assert verify(copy, "--logits", str(moved)) == 0


def flip(path):
    """Change one bit in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_one_changed_byte_of_a_lerobot_table_is_found(tmp_path, capsys, version):
    """Other actions under the same videos would give other scores."""
    from tests.episodes.lerobot.datasets import write_dataset

    written = write_dataset(tmp_path / "gt", version)
    for index, frames in enumerate(written.frames):
        encode(tmp_path / f"pred/episode_{index:06d}.mp4", frames, 5)
    overrides = ["suite=lerobot", "metrics=[mse]"]
    result = evaluate(tmp_path / "gt", tmp_path / "pred", num_context=1, overrides=overrides)
    save_result(result, tmp_path / "result.json")
    assert verify(tmp_path) == 0
    flip(next((tmp_path / "gt/data").rglob("*.parquet")))
    assert verify(tmp_path) == 1
    assert "Failed: actions/episode_000000: " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["actions", "states", "metadata"])
def test_one_changed_byte_of_a_frame_datasets_json_is_found(tmp_path, capsys, name):
    """As of its frames."""
    from tests.oracles.drawn_scenes import random_scene, write_episode, write_images

    frames = random_scene(np.random.default_rng(0), 5)
    actions = [{"t": t, "action": "move_right"} for t in range(4)]
    write_episode(tmp_path / "gt", "episode_000", frames, frames, actions)
    write_images(tmp_path / "pred/episode_000", frames)
    path = tmp_path / f"gt/episode_000/{name}.json"
    if not path.exists():
        pytest.skip(f"the drawn episode has no {name}.json")
    overrides = ["suite=frames"]
    result = evaluate(tmp_path / "gt", tmp_path / "pred", num_context=1, overrides=overrides)
    save_result(result, tmp_path / "result.json")
    assert verify(tmp_path) == 0
    flip(path)
    assert verify(tmp_path) == 1
    assert f"Failed: {name}/episode_000: " in capsys.readouterr().out


def test_saved_actions_are_checked_where_they_lie(suite, copy, capsys):
    """They lie beside a suite that has none of its own."""
    for name in ("a", "scene/b"):
        path = copy / f"actions/{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.ones((5, 2)))
    overrides = [
        "metrics=[mse,action_following]",
        "+action_adapter@metrics.action_following.adapter=linear_map",
        "metrics.action_following.adapter.elements=[0,1]",
        "metrics.action_following.adapter.matrix=[[2,0],[0,1]]",
        f"suite.actions={copy / 'actions'}",
    ]
    for side in ("gt", "pred"):
        shutil.rmtree(copy / side)
        shutil.copytree(suite / side, copy / side)
    result = evaluate(copy / "gt", copy / "pred", num_context=1, overrides=overrides)
    save_result(result, copy / "result.json")
    assert verify(copy, "--recompute", "2") == 0
    (copy / "actions").rename(copy / "moved")
    assert verify(copy) == 1
    assert "Failed: actions/a.mp4" in capsys.readouterr().out
    moved = ("--actions", str(copy / "moved"))
    assert verify(copy, *moved, "--recompute", "2") == 0
    flip(copy / "moved/scene/b.npy")
    assert verify(copy, *moved) == 1
    assert "Failed: actions/scene/b.mp4" in capsys.readouterr().out


def test_learned_numbers_are_computed_again(suite, copy, capsys):
    """Distances with all episodes, LPIPS with any; a changed distance is found without."""
    from tests.oracles.seeded_networks import write_networks

    networks = write_networks(copy / "networks")
    for side in ("gt", "pred"):
        shutil.rmtree(copy / side)
        shutil.copytree(suite / side, copy / side)
    overrides = networks.overrides("fvd", "fid")
    result = evaluate(copy / "gt", copy / "pred", num_context=1, overrides=overrides)
    save_result(result, copy / "result.json")
    assert verify(copy, "--recompute", "1") == 0
    assert verify(copy, "--recompute", "2", "--json") == 0
    output = capsys.readouterr().out
    assert '"recompute/fvd"' in output
    assert '"recompute/fid"' in output
    change(copy, "$.wbgpu.distribution_distances[0].value", 0.5)
    assert verify(copy) == 1
    assert "Failed: settings" in capsys.readouterr().out
    assert verify(copy, "--recompute", "2") == 1
    assert "Failed: recompute/fvd" in capsys.readouterr().out
