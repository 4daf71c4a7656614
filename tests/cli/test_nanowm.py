"""Saved rollouts of NanoWM from the command line: score, gate, verify, refuse."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np
import pytest

import wbgpu
from tests.corruptions.videos import textured_video
from tests.episodes.nanowm_exports import manifest, write_manifest
from wbgpu.cli.main import run
from wbgpu.episodes.digests import file_sha256
from wbgpu.video.encode import write_video

NUM_CONTEXT, NUM_FRAMES = 4, 12


def write_pair(truth: str, prediction: str, *, seed: int, shift: int, fps: float = 3) -> None:
    """Lossless, because the bytes of a lossy video may differ from one encoding to the next."""
    video = textured_video(NUM_FRAMES, seed)
    predicted = video.clone()
    predicted[NUM_CONTEXT:] = video[NUM_CONTEXT:].roll(shift, -1)
    write_video(truth, video, fps, lossless=True)
    write_video(prediction, predicted, fps, lossless=True)


@pytest.fixture
def rollouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two checkpoints, as rollout.py leaves them; the later one is the better one."""
    monkeypatch.chdir(tmp_path)
    for name, shift in (("50k", 3), ("300k", 1)):
        for seed in range(3):
            sample = f"{name}/sample_{seed:04d}"
            write_pair(f"{sample}_gt.mp4", f"{sample}_gen.mp4", seed=seed, shift=shift)
            write_video(f"{sample}_compare.mp4", textured_video(2), 3)
    return tmp_path


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One episode of two checkpoints, as worldbench's adapter leaves them."""
    monkeypatch.chdir(tmp_path)
    for name, shift in (("baseline", 3), ("candidate", 1)):
        write_pair("p/ground_truth/a.mp4", f"p/{name}/a.mp4", seed=0, shift=shift)
    write_manifest(tmp_path / "p", manifest("a.mp4"))
    return tmp_path / "p"


def evaluate(*arguments: str) -> int:
    return run(["eval", "suite=nanowm", "hydra.run.dir=out", *arguments])


def contents(root: Path) -> dict[Path, str]:
    return {path: file_sha256(path) for path in root.rglob("*") if path.is_file()}


def test_score_gate_and_report_two_checkpoints(rollouts, capsys, monkeypatch):
    """The inputs stay as they are, and nothing is fetched."""

    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    before = contents(rollouts)
    assert evaluate("suite.ground_truth=50k", "output=50k.json") == 0
    assert (
        evaluate("suite.ground_truth=300k", "suite.layout.checkpoint=nanowm-b2", "output=300k.json")
        == 0
    )
    text = capsys.readouterr().out
    assert "codec's own error is not counted" in text
    assert "Checkpoint: nanowm-b2\n" in text
    assert before.items() <= contents(rollouts).items()
    result = wbgpu.load_result("300k.json")
    assert [e.episode_id for e in result.episodes] == [f"sample_{i:04d}" for i in range(3)]
    assert [e.num_steps for e in result.episodes] == [8, 8, 8]
    assert (result.num_context, result.result_type) == (4, "batch_evaluation")
    gate = ["gate", "--baseline", "50k.json", "--candidate", "300k.json"]
    assert run([*gate, "--max-metric-drop", "1", "--max-horizon-drop", "1"]) == 0
    assert run(["report", "300k.json", "--against", "50k.json", "--output", "r.html"]) == 0
    assert run(["verify-run", "300k.json", "--recompute", "3"]) == 0


def test_the_same_scores_as_two_folders_of_videos(rollouts):
    for kind in ("gt", "gen"):
        Path(kind).mkdir()
        for path in Path("50k").glob(f"*_{kind}.mp4"):
            (rollouts / kind / f"{path.stem[:11]}.mp4").symlink_to(path.resolve())
    ours = wbgpu.evaluate("50k", overrides=["suite=nanowm"])
    plain = wbgpu.evaluate("gt", "gen", num_context=4)
    assert [e.score for e in ours.episodes] == [e.score for e in plain.episodes]
    assert ours.summary.overall == plain.summary.overall
    assert ours.summary.horizons == plain.summary.horizons


def test_clips_of_another_length_rate_or_size_cost_their_episodes(rollouts, capsys):
    """Each is named, and no gate passes what is left."""
    write_video("50k/sample_0000_gen.mp4", textured_video(NUM_FRAMES + 1), 3)
    assert evaluate("suite.ground_truth=300k", "output=300k.json") == 0
    assert evaluate("suite.ground_truth=50k", "output=50k.json") == 2
    assert run(["gate", "--baseline", "300k.json", "--candidate", "50k.json"]) == 1
    write_pair("50k/sample_0001_gt.mp4", "50k/sample_0001_gen.mp4", seed=1, shift=1, fps=5)
    assert evaluate("suite.ground_truth=50k", "suite.layout.fps=3", "output=50k.json") == 2
    capsys.readouterr()
    failures = {e.episode_id: e.failure for e in wbgpu.load_result("50k.json").episodes}
    assert "sample_0000_gen.mp4: it has 13 frame(s), but 12 are" in failures["sample_0000"].message
    assert "num_context=4 suite.layout.num_steps=8" in failures["sample_0000"].message
    assert "5 frames per second, but 3 are" in failures["sample_0001"].message
    assert failures["sample_0002"] is None
    write_video("50k/sample_0002_gen.mp4", textured_video(NUM_FRAMES)[:, :, :, :16], 3)
    assert evaluate("suite.ground_truth=50k", "suite.layout.episodes=[sample_0002]") == 2
    assert "resolution is 16x24 against 32x24" in capsys.readouterr().err


def test_another_context_and_horizon(rollouts):
    arguments = ["suite.ground_truth=50k", "suite.num_context=9", "suite.layout.num_steps=3"]
    assert evaluate(*arguments, "output=r.json") == 0
    assert [e.num_steps for e in wbgpu.load_result("r.json").episodes] == [3, 3, 3]


def test_a_prepared_folder(prepared, capsys):
    """The manifest names checkpoint and dataset, and is one of the files that are verified."""
    arguments = ["suite.ground_truth=p", "suite.predictions=p/candidate"]
    assert evaluate(*arguments, "output=c.json") == 0
    text = capsys.readouterr().out
    assert "Checkpoint: nanowm-300k\n" in text
    assert "Dataset: RT-1 / Fractal, IPEC-COMMUNITY/fractal20220817_data_lerobot" in text
    assert "One fixed episode." in text
    assert run(["verify-run", "c.json", "--recompute", "1"]) == 0
    plain = wbgpu.evaluate("p/ground_truth", "p/candidate", num_context=4)
    assert wbgpu.load_result("c.json").summary == plain.summary
    document = manifest("a.mp4")
    write_manifest(prepared, document | {"known_limitations": []})
    capsys.readouterr()
    assert run(["verify-run", "c.json"]) == 1
    assert "metadata/a.mp4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context_frames": 1}, r"manifest.json: $.context_frames: 1, but suite.num_context is 4"),
        ({"candidate_directory": "../p/candidate"}, "$.candidate_directory: expected a path with"),
        ({"adapter": None}, "$.adapter: expected 'nanowm_rt1_prepare_worldbench_inputs'"),
        ({"candidate_directory": None}, "suite.predictions: expected a folder of p/manifest.json"),
    ],
)
def test_a_manifest_that_does_not_fit_is_named(prepared, capsys, change, message):
    write_manifest(prepared, manifest("a.mp4") | change)
    assert evaluate("suite.ground_truth=p", "suite.predictions=p/candidate") == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("frame_count", 11, "$.episodes[0].frame_count: 11, but"),
        ("resolution", [24, 32], "its frames are 32x24, but 24x32 is declared by p/manifest.json"),
    ],
)
def test_clips_are_held_to_the_manifest(prepared, capsys, key, value, message):
    document = manifest("a.mp4")
    document["episodes"][0][key] = value
    write_manifest(prepared, document)
    assert evaluate("suite.ground_truth=p", "suite.predictions=p/candidate") == 2
    assert message in capsys.readouterr().err


def test_arrays_of_floats_need_their_range(tmp_path, monkeypatch, capsys):
    """Predictions before they were encoded: NanoWM's frames are floats from -1 to 1."""
    monkeypatch.chdir(tmp_path)
    video = textured_video(NUM_FRAMES)
    write_video("gt/a.mp4", video, 3, lossless=True)
    Path("floats").mkdir()
    np.save("floats/a.npy", video.numpy().astype(np.float32) / 127.5 - 1)
    arguments = ["suite.ground_truth=gt", "suite.predictions=floats"]
    assert evaluate(*arguments) == 2
    assert "suite.float_range" in capsys.readouterr().err
    assert evaluate(*arguments, "suite.float_range=[-1,1]", "output=r.json") == 0
    assert json.loads(Path("r.json").read_text())["aggregate"]["overall"]["mean"] > 99


def test_a_model_is_given_the_context_of_saved_rollouts(rollouts, capsys):
    """The persistence baseline of the same scenes."""
    assert evaluate("suite.ground_truth=50k", "model=copy_last", "output=copy.json") == 0
    assert wbgpu.load_result("copy.json").checkpoint_name == "copy_last"
    assert evaluate("suite.ground_truth=300k", "output=300k.json") == 0
    assert run(["compare", "300k.json", "copy.json"]) == 0
