"""eval-frames, validate, and the other commands on what they make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worldbench.runners.comparator import load_result

from tests.oracles.drawn_scenes import random_scene, write_episode, write_images
from wbgpu.cli.main import run

ACTIONS = [{"t": t, "action": "move_right"} for t in range(5)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a user with a dataset of three episodes and two models."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for index in range(3):
        frames = random_scene(rng, 6)
        frames[:, 30:36, 20:26] = (45, 190, 70)
        noise = rng.normal(0, 20, frames.shape)
        worse = np.clip(frames + noise, 0, 255).astype(np.uint8)
        name = f"episode_{index:03d}"
        write_episode(tmp_path / "data", name, frames, frames, ACTIONS)
        write_images(tmp_path / "data" / "good" / name, frames)
        write_images(tmp_path / "data" / "bad" / name, worse)
    return tmp_path


def read(path: str | Path) -> Any:
    return json.loads(Path(path).read_text("utf-8"))


def test_eval_frames_writes_what_worldbench_reads(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A timestamped run and the latest alias, which worldbench's own report command reads."""
    assert run(["eval-frames", "data", "-p", "data/bad"]) == 0
    text = capsys.readouterr().out
    payload = read(".wbgpu/runs/latest/result.json")
    assert payload["result_type"] == "evaluation"
    assert [episode["episode"] for episode in payload["episodes"]] == [
        "episode_000",
        "episode_001",
        "episode_002",
    ]
    assert payload["coverage"]["available_metric_count"] == 5
    assert "object_permanence " in text
    (timestamped,) = (path for path in Path(".wbgpu/runs").iterdir() if path.name != "latest")
    assert read(timestamped / "result.json") == payload
    assert load_result(".wbgpu/runs/latest/result.json").score == payload["score"]


@pytest.mark.parametrize("command", ["eval", "eval-frames"])
def test_eval_of_a_dataset_is_eval_frames(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """`worldbench eval DATASET -p FOLDER` becomes `wbgpu eval DATASET -p FOLDER`."""
    assert run([command, "data", "--predictions", "data/good", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["metrics"]["visual_similarity"]["score"] == 100
    assert run([command, "data", "--output-root", "kept"]) == 0
    assert Path("kept/latest/result.json").is_file()


def test_values_of_hydras_flags_are_no_dataset(folder: Path) -> None:
    """A folder of configurations exists, and is not what is evaluated."""
    (folder / "mine/metrics").mkdir(parents=True)
    (folder / "mine/metrics/own.yaml").write_text("own:\n  _target_: wbgpu.metrics.Mse\n")
    suite = ["suite=frames", "suite.ground_truth=data", "suite.predictions=data/good"]
    arguments = ["eval", "--config-dir", "mine", *suite, "metrics=own", "output=own.json"]
    assert run(arguments) == 0
    assert "own" in Path("own.json").read_text()


def test_hydra_overrides_choose_the_suite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same suite in a sweep or with a model that predicts live."""
    arguments = ["eval", "suite=frames", "suite.ground_truth=data", "suite.predictions=data/good"]
    assert run(arguments) == 0
    assert "object_permanence " in capsys.readouterr().out
    live = ["eval", "suite=frames", "suite.ground_truth=data", "model=copy_last"]
    assert run([*live, "suite.num_context=2"]) == 0
    assert "action_consistency" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "dataset nowhere: does not exist"),
        (["data", "-p", "nowhere"], "predictions nowhere: does not exist"),
        (["data", "-p", "data/good/episode_000"], "images of one episode, but the dataset has 3"),
        (["data", "--skip-context", "6"], "leaves no"),
        (["data", "--skip-context", "-1"], "non-negative"),
    ],
)
def test_wrong_input_exits_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """worldbench scores missing predictions 0.0 and exits with 0."""
    assert run(["eval-frames", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path(".wbgpu/runs/latest").exists()


def test_too_different_counts_and_sizes_cost_the_episode(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name; the other episodes are scored, and the exit code says that something is missing."""
    write_images(folder / "data/bad/more", np.zeros((40, 48, 64, 3), np.uint8))
    (folder / "data/bad/episode_001").rename(folder / "old")
    (folder / "data/bad/more").rename(folder / "data/bad/episode_001")
    assert run(["eval-frames", "data", "-p", "data/bad"]) == 2
    text = capsys.readouterr()
    assert "episode_001" in text.err
    assert "data/bad/episode_001 has 40" in text.err
    assert len(read(".wbgpu/runs/latest/result.json")["episodes"]) == 3


def test_validate_names_every_fault(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 for a dataset that can be evaluated, 2 for one that cannot; 1 is FAIL and nothing else."""
    assert run(["validate", "data"]) == 0
    assert "Valid dataset: 3 episode(s), 18 frame(s), 0 error(s)" in capsys.readouterr().out
    Path("data/episode_001/actions.json").write_text('[{"t": 0, "dx": "fast"}]')
    Path("data/episode_002/frames/003.png").unlink()
    assert run(["validate", "data"]) == 2
    text = capsys.readouterr().out
    assert "episode_001/actions.json: $[0].dx: expected a number" in text
    assert "missing: 3" in text
    assert run(["validate", "data", "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert report["is_valid"] is False
    assert len(report["errors"]) == 2


def test_compare_models_of_a_dataset(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As worldbench's `compare DATASET --models A B`."""
    assert run(["compare", "data", "--models", "good", "bad"]) == 0
    assert "good has the better mean over 3 episodes" in capsys.readouterr().out
    comparison = read(".wbgpu/comparisons/latest/comparison.json")
    assert comparison["dataset_path"] == "data"
    assert run(["compare", "data", "--models", "good", "nowhere"]) == 2


def test_results_are_verified_reported_and_gated(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A result that nothing else reads is of no use."""
    for model in ("good", "bad"):
        assert run(["eval-frames", "data", "-p", f"data/{model}", "--output-root", model]) == 0
    good, bad = "good/latest/result.json", "bad/latest/result.json"
    assert run(["verify-run", bad, "--recompute", "2"]) == 0
    assert "VERIFIED" in capsys.readouterr().out
    assert run(["gate", "--baseline", good, "--candidate", bad]) == 1
    assert run(["gate", "--baseline", good, "--candidate", good]) == 0
    assert run(["report", bad, "-o", "page.html"]) == 0
    assert "data:image" in Path("page.html").read_text("utf-8")
    capsys.readouterr()
    Path("data/episode_001/actions.json").write_text("[]")
    Path("data/bad/episode_002/003.png").unlink()
    assert run(["verify-run", bad]) == 1
    text = capsys.readouterr().out
    assert "actions/episode_001" in text
    assert "prediction/episode_002" in text


def test_longer_predictions_are_one_result_for_every_reader(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their values are of more frames than the last horizon, in files, checks and processes."""
    rng = np.random.default_rng(1)
    for index in range(3):
        frames = random_scene(rng, 9)
        write_images(folder / "data" / "long" / f"episode_{index:03d}", frames)
    command = ["eval-frames", "data", "-p", "data/long", "--output-root"]
    assert run([*command, "one"]) == 0
    assert run([*command, "two", "loader.window_frames=2", "trainer.devices=2"]) == 0
    assert run([*command, "cut", "suite.whole_predictions=false"]) == 0
    one, two, cut = (read(f"{name}/latest/result.json") for name in ("one", "two", "cut"))
    assert one["episodes"] == two["episodes"]
    for whole, trimmed in zip(one["episodes"], cut["episodes"]):
        assert whole["horizon"] == trimmed["horizon"]
        stability = whole["metrics"]["temporal_stability"]
        assert (
            stability["score"] != whole["horizon"]["t+6"]["metrics"]["temporal_stability"]["score"]
        )
        assert stability["details"] != trimmed["metrics"]["temporal_stability"]["details"]
    assert load_result(Path("one/latest/result.json")).score == one["score"]
    assert run(["verify-run", "one/latest/result.json", "--recompute", "3"]) == 0
    capsys.readouterr()
    files = ["--baseline", "one/latest/result.json", "--candidate", "cut/latest/result.json"]
    assert run(["gate", *files]) == 1
    assert "whole_predictions: True vs False" in capsys.readouterr().out
