from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wbgpu.cli.demo_suite import draw_episode
from wbgpu.cli.main import run
from wbgpu.video.encode import write_video

NUM_FRAMES = 8


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a user with three episodes and a checkpoint's predictions."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    for name in ("a b.mp4", "nested/ü.mp4", "c.mp4"):
        truth = draw_episode(generator, NUM_FRAMES)
        noise = generator.normal(0, 8, truth.shape)
        write_video(tmp_path / "gt" / name, truth, fps=5)
        prediction = np.clip(truth + noise, 0, 255).astype(np.uint8)
        write_video(tmp_path / "step100" / name, prediction, fps=5)
    return tmp_path


def batch(*more: str) -> list[str]:
    return ["eval-batch", "--ground-truth", "gt", "--predictions", "step100", *more]


def read(path: str | Path) -> Any:
    return json.loads(Path(path).read_text("utf-8"))


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must exit with 2, leave no result behind, and say why."""
    before = set(Path().rglob("*"))
    assert run(arguments) == 2
    assert set(Path().rglob("*")) == before
    return capsys.readouterr().err


def test_eval_batch_writes_what_worldbench_writes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P38: a timestamped run, the latest alias, the JSON copy, and every episode's own file."""
    assert run(batch("--skip-context", "2")) == 0
    text = capsys.readouterr().out
    payload = read("step100.json")
    assert read(".wbgpu/batches/latest/batch.json") == payload
    (timestamped,) = (path for path in Path(".wbgpu/batches").iterdir() if path.name != "latest")
    assert read(timestamped / "batch.json") == payload
    assert (timestamped / "report.md").is_file()
    assert payload["episode_ids"] == ["a b.mp4", "c.mp4", "nested/ü.mp4"]
    for episode in payload["episodes"]:
        assert read(episode["result_path"])["score"] == episode["score"]
    assert "Checkpoint: step100" in text
    assert "Saved batch result: .wbgpu/batches/" in text


def test_text_output_does_not_wrap_and_json_output_is_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """worldbench wraps at 80 columns when its output is not a terminal."""
    deep = "deep/" * 30
    Path(deep).mkdir(parents=True)
    assert run(batch("--output", f"{deep}result.json")) == 0
    assert f"{deep}result.json" in capsys.readouterr().out
    assert run(batch("--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["episode_count"] == 3
    assert document["aggregate"]["overall"]["mean"] > 0


def test_flags_and_hydra_give_the_same_numbers_and_the_configuration_is_kept(folder: Path) -> None:
    assert run(batch("--skip-context", "2", "--name", "x", "metrics=[visual_similarity,mse]")) == 0
    hydra = ["suite.ground_truth=gt", "suite.predictions=step100", "suite.num_context=2"]
    assert run(["eval", *hydra, "metrics=[visual_similarity,mse]", "name=x", "output=y.json"]) == 0
    first, second = read("x.json"), read("y.json")
    assert first["aggregate"] == second["aggregate"]
    assert first["wbgpu"]["metrics"] == second["wbgpu"]["metrics"]
    configuration = second["wbgpu"]["provenance"]["configuration"]
    assert configuration["suite"]["num_context"] == 2
    assert list(configuration["metrics"]) == ["visual_similarity", "mse"]


def test_an_override_counts_beside_the_flags(folder: Path) -> None:
    assert run(batch("suite.num_context=3", "device=cpu", "name=x")) == 0
    payload = read("x.json")
    assert payload["skip_context"] == 3
    assert payload["wbgpu"]["provenance"]["command"] == (
        "wbgpu eval-batch --ground-truth gt --predictions step100 suite.num_context=3 device=cpu "
        "name=x"
    )


def test_two_files_through_hydra_are_an_evaluation(folder: Path) -> None:
    pair = ["suite.ground_truth=gt/c.mp4", "suite.predictions=step100/c.mp4", "output=pair.json"]
    assert run(["eval", *pair, "metrics=[psnr,visual_similarity]"]) == 0
    assert read("pair.json")["result_type"] == "evaluation"


def test_both_commands_read_the_project_file(folder: Path) -> None:
    """Else the same checkpoint would have two configuration hashes, which a gate refuses."""
    Path("wbgpu.yml").write_text("metrics: {visual_similarity: {weight: 2}}")
    hydra = ["suite.ground_truth=gt", "suite.predictions=step100", "output=hydra.json"]
    assert run(["eval", *hydra]) == 0
    assert run(batch("--output", "flags.json")) == 0
    assert read("hydra.json")["configuration_hash"] == read("flags.json")["configuration_hash"]


def test_interrupting_leaves_no_result_and_exits_with_130(folder: Path) -> None:
    """Lightning would exit with 1, the code of a gate's FAIL."""
    program = (
        "import signal, sys, threading\n"
        "from wbgpu.cli.main import run\n"
        "from wbgpu.video import loader\n"
        "pack = loader.pack\n"
        "def interrupt(*arguments):\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    return pack(*arguments)\n"
        "loader.pack = interrupt\n"
        "code = run(sys.argv[1:])\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "sys.exit(code)"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, *batch()], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 130, outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert not list(Path().glob("*.json"))
    assert not Path(".wbgpu").exists()


def test_a_reader_that_goes_away_is_no_verdict(folder: Path) -> None:
    """click would exit with 1, the code of a gate's FAIL."""
    reading, writing = os.pipe()
    os.close(reading)
    outcome = subprocess.run(
        [sys.executable, "-m", "wbgpu", *batch("--json")],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (outcome.returncode, outcome.stderr) == (141, "")


def test_one_command_is_for_files_and_the_other_for_folders(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ["--ground-truth", "gt", "--prediction", "step100"]
    assert "score folders with eval-batch" in error_of(capsys, "eval-video", *pair)
    assert "score folders with eval-batch" in error_of(capsys, "eval-videos", *pair)
    files = ["--ground-truth", "gt/c.mp4", "--predictions", "step100/c.mp4"]
    assert "eval-video" in error_of(capsys, "eval-batch", *files)


def test_a_report_does_not_replace_a_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(batch()) == 0
    capsys.readouterr()
    arguments = ["report", "step100.json", "--output", "step100.json"]
    assert "expected a .md or .html file" in error_of(capsys, *arguments)


def test_a_task_of_a_slurm_job_evaluates_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning refuses to start, or waits for the job's other tasks."""
    for key, value in (("NTASKS", "4"), ("JOB_ID", "7"), ("PROCID", "0"), ("LOCALID", "0")):
        monkeypatch.setenv(f"SLURM_{key}", value)
    monkeypatch.setenv("SLURM_JOB_NAME", "train")
    assert run(batch()) == 0


def test_a_sweep_evaluates_each_checkpoint(folder: Path) -> None:
    sweep = ["suite.ground_truth=gt", "suite.predictions=step100,gt", "metrics=[psnr]"]
    assert run(["eval", "--multirun", *sweep, "hydra.sweep.dir=sweep"]) == 0
    names = [read(path)["checkpoint_name"] for path in sorted(Path("sweep").glob("*/batch.json"))]
    assert names == ["step100", "gt"]


def test_a_sweep_does_not_write_every_job_to_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["suite.ground_truth=gt", "suite.predictions=step100,gt", "metrics=[psnr]"]
    assert run(["eval", "--multirun", *sweep, "hydra.sweep.dir=sweep", "output=one.json"]) == 2
    assert "every job of the sweep would write one.json" in capsys.readouterr().err
    assert not Path("one.json").exists()
    assert run(["eval", "--multirun", *sweep, "hydra.sweep.dir=sweep", "output=a.json,b.json"]) == 0


def test_a_failing_job_of_a_sweep_does_not_stop_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = ["suite.ground_truth=gt", "suite.predictions=missing,step100", "metrics=[psnr]"]
    assert run(["eval", "--multirun", *sweep, "hydra.sweep.dir=sweep"]) == 2
    assert "missing" in capsys.readouterr().err
    assert [path.parent.name for path in Path("sweep").glob("*/batch.json")] == ["1"]


def test_eval_video_and_its_latest_alias(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """P01-P08."""
    pair = ["--ground-truth", "gt/a b.mp4", "--prediction", "step100/a b.mp4"]
    assert run(["eval-video", *pair, "--skip-context", "2"]) == 0
    text = capsys.readouterr().out
    assert "Composite Score" in text
    assert "Metric coverage: 2 of 5" in text
    assert "Saved run directory:" in text
    result = read(".wbgpu/runs/latest/result.json")
    assert (result["result_type"], result["schema_version"]) == ("evaluation", "2")
    assert result["composite_score"] == result["score"]
    assert result["provenance"]["evaluated_frame_count"] == NUM_FRAMES - 2
    assert result["provenance"]["ground_truth_frame_count"] == NUM_FRAMES
    (episode,) = result["episodes"]
    assert list(episode["horizon"]) == [f"t+{h}" for h in range(1, NUM_FRAMES - 1)]
    first = episode["horizon"]["t+1"]
    assert first["sample_count"] == 1
    assert "visual_similarity" in first["metrics"]
    assert "action_consistency" in first["unavailable_metrics"]
    assert result["coverage"]["configured_weight_coverage"] == pytest.approx(0.45)


def test_eval_videos_aligns_safely_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P15, P16, P18, P23, P25, P26."""
    truth = draw_episode(np.random.default_rng(1), NUM_FRAMES)
    write_video(folder / "odd.mp4", truth[: NUM_FRAMES - 1, ::2, ::2], fps=10)
    arguments = ["--reference", "gt/a b.mp4", "--prediction", "odd.mp4", "--output", "out put"]
    assert run(["eval-videos", *arguments]) == 0
    provenance = read("out put/result.json")["provenance"]
    assert provenance["alignment_policy"] == "safe"
    assert provenance["ground_truth_frames_trimmed"] == 1
    assert provenance["prediction_original_resolution"] == "64x48"
    assert provenance["evaluated_resolution"] == "128x96"
    assert provenance["resizing_occurred"] is True
    assert provenance["fps_differed"] is True
    assert len(provenance["alignment_warnings"]) == 3
    assert Path("out put/artifacts/comparison.png").is_file()
    summary = Path("out put/summary.md").read_text("utf-8")
    assert "resized" in summary
    assert "odd.mp4" in summary


def test_eval_videos_demo_says_that_it_is_no_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P22, P20, P19."""
    assert run(["eval-videos", "--demo", "--no-save-comparison"]) == 0
    provenance = read("wbgpu-video-results/result.json")["provenance"]
    assert provenance["demo"] is True
    text = capsys.readouterr().out
    summary = Path("wbgpu-video-results/summary.md").read_text("utf-8")
    for notice in provenance["demo_notice"]:
        assert notice in text
        assert notice in summary
    assert len(provenance["demo_notice"]) == 3
    assert Path("wbgpu-video-results/demo_inputs/predicted_future.mp4").is_file()
    assert not Path("wbgpu-video-results/artifacts").exists()


def test_eval_videos_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """P21, P27."""
    both = ["--ground-truth", "gt/c.mp4", "--reference", "gt/c.mp4", "--prediction", "gt/c.mp4"]
    assert "exactly one" in error_of(capsys, "eval-videos", *both)
    assert "exactly one" in error_of(capsys, "eval-videos", "--prediction", "gt/c.mp4")
    assert "--prediction" in error_of(capsys, "eval-videos", "--ground-truth", "gt/c.mp4")
    assert "--demo" in error_of(capsys, "eval-videos", "--demo", "--prediction", "gt/c.mp4")
    Path("file").write_text("")
    assert "not a directory" in error_of(capsys, "eval-videos", "--demo", "--output", "file")


def test_gate_follows_and_its_verdict_is_the_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P40, P41: better passes with 0, worse fails with 1, other episodes are an error with 2."""
    assert run(batch("--name", "noisy")) == 0
    perfect = ["eval-batch", "--ground-truth", "gt", "--predictions", "gt", "--name", "perfect"]
    assert run(perfect) == 0
    capsys.readouterr()
    assert run(["gate", "--baseline", "noisy.json", "--candidate", "perfect.json"]) == 0
    assert capsys.readouterr().out.startswith("PASS\n")
    assert run(["gate", "--baseline", "perfect.json", "--candidate", "noisy.json"]) == 1
    assert "Regression detected" in capsys.readouterr().out
    assert read(".wbgpu/gates/latest/gate.json")["status"] == "FAIL"
    assert run(["gate", "--baseline", "perfect.json", "--candidate", "noisy.json", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    for side in ("gt", "step100"):
        (folder / side / "c.mp4").unlink()
    assert run(batch("--name", "fewer")) == 0
    capsys.readouterr()
    assert "different episode sets" in error_of(
        capsys, "gate", "--baseline", "noisy.json", "--candidate", "fewer.json"
    )


def test_the_configuration_that_was_used_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """worldbench lets a file in the current folder flip a verdict without a word."""
    Path("worldbench.yml").write_text("metrics: {temporal_stability: {enabled: false}}")
    assert run(batch()) == 0
    assert "Configuration: worldbench.yml" in capsys.readouterr().out
    payload = read("step100.json")
    assert "temporal_stability" not in payload["enabled_metrics"]
    assert payload["wbgpu"]["provenance"]["configuration_file"] == "worldbench.yml"


def test_one_bad_episode_is_recorded_and_the_others_are_scored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("step100/c.mp4").write_text("not a video")
    assert run(batch()) == 2
    error = capsys.readouterr().err
    assert "step100/c.mp4" in error
    assert "1 of 3 episodes" in error
    payload = read("step100.json")
    assert payload["aggregate"]["overall"]["count"] == 2
    assert run(["gate", "--baseline", "step100.json", "--candidate", "step100.json"]) == 1
    assert "c.mp4" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["eval-batch", "eval-video", "eval-videos"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("text", "unreadable"),
        ("empty", "empty"),
        ("truncated", "unreadable"),
        ("missing", "does not exist"),
    ],
)
def test_an_unusable_video_is_named_and_nothing_is_written(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    damage: str,
    message: str,
) -> None:
    """P14, P28. With one episode there is nothing left to score, so there is no result."""
    for side in ("gt", "step100"):
        (folder / side / "a b.mp4").unlink()
        (folder / side / "nested/ü.mp4").unlink()
    bad = folder / "step100/c.mp4"
    whole = bad.read_bytes()
    if damage == "missing":
        if command == "eval-batch":
            pytest.skip("a missing video is a pairing error there")
        bad.unlink()
    else:
        bad.write_bytes(
            {"text": b"hello", "empty": b"", "truncated": whole[: len(whole) // 2]}[damage]
        )
    pair = ["--ground-truth", "gt/c.mp4", "--prediction", "step100/c.mp4"]
    arguments = batch()[1:] if command == "eval-batch" else pair
    error = error_of(capsys, command, *arguments)
    assert "step100/c.mp4" in error
    assert message in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--skip-context", "-1"], "non-negative"),
        (["--skip-context", "8"], "leaves no ground-truth future"),
        (["--output", "."], "is a directory"),
        (["--output-root", "gt/c.mp4"], "not a directory"),
        (["--name", "../x"], "--name"),
        (["--config", "none.yml"], "does not exist"),
        (["--device", "tpu"], "device"),
        (["--skip-context", "2", "suite.num_context=1"], "suite.num_context is given twice"),
        (["metrics=[visual]"], "nearest: 'visual_similarity'"),
        (["suite.num_contexts=1"], "nearest: 'suite.num_context'"),
    ],
)
def test_wrong_settings_are_refused_before_the_work(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """P09, P10, P66."""
    assert message in error_of(capsys, *batch(*arguments))


def test_unpaired_and_missing_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """P39."""
    (folder / "step100/c.mp4").rename(folder / "step100/d.mp4")
    error = error_of(capsys, *batch())
    assert "Missing predictions: 1\n  c.mp4" in error
    assert "Prediction-only episodes: 1\n  d.mp4" in error
    arguments = ["eval-batch", "--ground-truth", "none", "--predictions", "step100"]
    assert "does not exist: none" in error_of(capsys, *arguments)


@pytest.mark.parametrize(
    ("kind", "message"), [("size", "96x64"), ("rate", "10"), ("length", "matching future lengths")]
)
def test_strict_alignment_refuses_what_differs(
    folder: Path, capsys: pytest.CaptureFixture[str], kind: str, message: str
) -> None:
    """P11-P13."""
    frames = draw_episode(np.random.default_rng(3), NUM_FRAMES)
    if kind == "size":
        frames = frames[:, :64, :96]
    if kind == "length":
        frames = frames[:5]
    write_video(folder / "other.mp4", frames, fps=10 if kind == "rate" else 5)
    pair = ["--ground-truth", "gt/c.mp4", "--prediction", "other.mp4"]
    error = error_of(capsys, "eval-video", *pair)
    assert "other.mp4" in error
    assert message in error


def test_demo_does_the_whole_job(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "d"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("FAIL\n")
    assert "context_mean" in text
    assert Path("d/results/report.md").read_text("utf-8").count("copy_last") >= 1


def test_no_ffmpeg_program_is_needed(folder: Path) -> None:
    """A cluster node without ffmpeg on its PATH runs the same job."""
    outcome = subprocess.run(
        [sys.executable, "-m", "wbgpu", *batch("--json")],
        env={**os.environ, "PATH": "/nonexistent", "IMAGEIO_FFMPEG_EXE": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(outcome.stdout)["episode_count"] == 3
    assert outcome.stderr == ""


def test_an_episodes_file_has_its_own_digests_and_no_others(folder: Path) -> None:
    """With all of them in every file, a thousand episodes would write a thousand times as much."""
    assert run(batch()) == 0
    whole = read("step100.json")["wbgpu"]["provenance"]["input_sha256"]
    assert len(whole) == 6
    (file,) = Path(".wbgpu/batches").glob("2*/episodes/c.mp4.json")
    own = read(file)["wbgpu"]["provenance"]["input_sha256"]
    keys = ("ground_truth/c.mp4", "prediction/c.mp4")
    assert own == {key: whole[key] for key in keys}


@pytest.mark.parametrize(
    "command",
    [
        ["eval", "suite.ground_truth=gt", "suite.predictions=step100"],
        batch(),
        ["eval-video", "--ground-truth", "gt/c.mp4", "--prediction", "step100/c.mp4"],
        ["eval-videos", "--ground-truth", "gt/c.mp4", "--prediction", "step100/c.mp4"],
    ],
    ids=lambda command: command[0],
)
def test_a_profile_is_printed_and_kept(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """With --json the table must not spoil what a program reads."""
    assert run([*command, "profile=true"]) == 0
    text = capsys.readouterr().out
    assert "Throughput: " in text
    (path,) = Path().rglob("trace.json")
    assert f"Saved trace: {path}" in text.replace(f"{folder}/", "")
    names = {event["name"] for event in read(path)["traceEvents"]}
    assert {"decode", "statistics", "score", "write"} <= names
    assert run([*command, "profile=true", "--json"]) == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    assert "Throughput: " in captured.err


def test_without_asking_nothing_is_profiled(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace in every run's folder would surprise."""
    assert run(batch()) == 0
    assert "Throughput" not in capsys.readouterr().out
    assert not list(Path().rglob("trace.json"))
