from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wbgpu
from wbgpu.cli.demo_suite import draw_episode
from wbgpu.errors import ConfigurationError, NothingScoredError
from wbgpu.evaluation.request import resolve_device
from wbgpu.metrics import Mse
from wbgpu.records.suite import EpisodeResult
from wbgpu.video.encode import write_video


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes of 9 to 21 frames, two sizes, predictions with noise."""
    folder = tmp_path_factory.mktemp("suite")
    generator = np.random.default_rng(5)
    for index in range(5):
        truth = draw_episode(generator, 9 + 3 * index)
        if index % 2:
            truth = truth[:, ::2, ::2]
        noise = generator.normal(0, 8, truth.shape)
        prediction = np.clip(truth + noise, 0, 255).astype(np.uint8)
        write_video(folder / f"gt/{index}.mp4", truth, fps=5)
        write_video(folder / f"predictions/{index}.mp4", prediction, fps=5)
    return folder


def evaluate(suite: Path, *overrides: str) -> tuple[EpisodeResult, ...]:
    result = wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=3, overrides=overrides)
    return result.episodes


@pytest.mark.parametrize(
    "overrides",
    [
        ("loader.window_frames=1",),
        ("loader.window_frames=7", "loader.num_workers=3"),
        ("loader.window_frames=1000", "loader.num_workers=1"),
    ],
)
def test_windows_and_workers_do_not_change_a_bit(suite: Path, overrides: tuple[str, ...]) -> None:
    """How frames are cut and who decodes them is an accident; a score must not depend on it."""
    assert evaluate(suite, *overrides) == evaluate(suite)


def test_one_episode_alone_scores_as_in_the_suite(suite: Path) -> None:
    alone = wbgpu.evaluate(suite / "gt/3.mp4", suite / "predictions/3.mp4", num_context=3)
    (ours,) = alone.episodes
    theirs = evaluate(suite)[3]
    assert ours.metrics == theirs.metrics
    assert ours.prefix_scores == theirs.prefix_scores


def test_the_fast_path_agrees_with_the_reference(suite: Path) -> None:
    fast, reference = evaluate(suite), evaluate(suite, "statistics=reference")
    for ours, theirs in zip(fast, reference):
        assert ours.prefix_scores == pytest.approx(theirs.prefix_scores, abs=1e-4)
        assert ours.metrics["mse"] == theirs.metrics["mse"]


def test_a_perfect_prediction_scores_100_at_every_horizon(suite: Path) -> None:
    result = wbgpu.evaluate(suite / "gt", suite / "gt", num_context=3)
    for episode in result.episodes:
        assert set(episode.metrics["visual_similarity"].prefix) == {100.0}
        assert set(episode.metrics["skill_persistence"].prefix) == {1.0}


def test_without_context_there_is_no_skill_and_it_says_why(suite: Path) -> None:
    result = wbgpu.evaluate(suite / "gt", suite / "predictions")
    outcome = result.episodes[0].metrics["skill_persistence"]
    assert outcome.status == "unsupported"
    assert outcome.reason is not None
    assert "context" in outcome.reason


def test_a_failing_episode_keeps_its_place_and_loses_nobody_else(
    suite: Path, tmp_path: Path
) -> None:
    for side in ("gt", "predictions"):
        (tmp_path / side).mkdir()
        for path in (suite / side).iterdir():
            (tmp_path / side / path.name).write_bytes(path.read_bytes())
    (tmp_path / "predictions/2.mp4").write_bytes(b"no video")
    result = wbgpu.evaluate(tmp_path / "gt", tmp_path / "predictions", num_context=3)
    assert [e.episode_id for e in result.failed_episodes] == ["2.mp4"]
    whole = evaluate(suite)
    for index in (0, 1, 3, 4):
        assert result.episodes[index].metrics == whole[index].metrics
    assert result.summary.overall is not None
    assert result.summary.overall.count == 4


def test_a_metric_that_raises_costs_its_value_and_not_the_run(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor that of the episodes that are scored together with the one at which it raises."""
    expected = evaluate(suite)
    episode_outcome = Mse.episode_outcome
    fatal = expected[2].metrics["mse"].prefix

    def explode(metric: Mse, statistics: Any, prefix: Any, *columns: Any) -> Any:
        if prefix == fatal:
            raise ZeroDivisionError("no luck")
        return episode_outcome(metric, statistics, prefix, *columns)

    monkeypatch.setattr(Mse, "episode_outcome", explode)
    for index, episode in enumerate(evaluate(suite)):
        outcome = episode.metrics["mse"]
        if index == 2:
            assert (outcome.status, outcome.error_type) == ("error", "ZeroDivisionError")
            assert outcome.reason == "no luck"
            assert episode.metrics["visual_similarity"].is_available
        else:
            assert episode == expected[index]


def test_nothing_scored_is_an_error_with_the_reasons(suite: Path) -> None:
    with pytest.raises(NothingScoredError, match=r"0\.mp4.*leaves no"):
        wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=100)


def test_the_result_says_how_it_was_made(suite: Path) -> None:
    result = wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=3)
    assert result.provenance is not None
    assert result.protocol is not None
    assert result.provenance.device.startswith("cuda" if torch.cuda.is_available() else "cpu")
    assert result.provenance.decoder == "pyav"
    assert len(result.provenance.input_sha256) == 10
    assert result.provenance.environment["torch"] == torch.__version__.partition("+")[0]
    assert result.protocol.metric_ids["visual_similarity"] == "visual_similarity/worldbench-1.0"
    assert result.provenance.configuration["suite"]["num_context"] == 3


def test_the_users_process_is_left_as_it_was(suite: Path) -> None:
    """An evaluation inside a training job must not change its threads, seeds or grad mode."""
    torch.manual_seed(3)
    before = torch.get_rng_state(), torch.get_num_threads(), torch.is_grad_enabled()
    wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=3)
    after = torch.get_rng_state(), torch.get_num_threads(), torch.is_grad_enabled()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_devices_that_are_not_there_are_refused() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigurationError, match="expected auto, cpu, cuda"):
        resolve_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigurationError, match="torch sees no CUDA device"):
            resolve_device("cuda")


PEAK_PROGRAM = """
import json, re, sys
import wbgpu
result = wbgpu.evaluate(sys.argv[1], sys.argv[2], num_context=1, device="cpu")
# Not ru_maxrss: it counts the process that started this one, up to exec.
peak_kb = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps([peak_kb / 1024, result.episodes[0].num_steps]))
"""


@pytest.mark.slow
def test_long_videos_stream(tmp_path: Path) -> None:
    """3,000 frames of 256x256 are 590 MB a video; they must never be in memory together."""
    generator = np.random.default_rng(0)
    scene = generator.integers(0, 256, (256, 512, 3), dtype=np.uint8)
    scene = scene // 8 * 2 + 96
    peaks = {}
    for num_frames in (30, 3000):
        frames = np.lib.stride_tricks.as_strided(
            scene, (256, 256, 256, 3), (3, 512 * 3, 3, 1), writeable=False
        )[np.arange(num_frames) % 240]
        write_video(tmp_path / f"{num_frames}.mp4", frames, fps=30, crf=40)
        del frames
        path = str(tmp_path / f"{num_frames}.mp4")
        output = subprocess.run(
            [sys.executable, "-c", PEAK_PROGRAM, path, path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        peaks[num_frames], num_steps = json.loads(output)
        assert num_steps == num_frames - 1
    assert peaks[3000] - peaks[30] < 400


def test_real_checkpoints_rank_as_they_should(shared: Path, tmp_path: Path) -> None:
    """The undertrained checkpoint is worse than copying the last frame, the trained one better."""
    suite = shared / "data/bridge_suite"
    results = {
        name: wbgpu.evaluate(suite / "gt", suite / name, num_context=4, name=name)
        for name in ("step00060", "step00900", "copy_last")
    }
    psnr, skill = (
        {
            name: result.summary.metrics[metric].distribution.mean  # type: ignore[union-attr]
            for name, result in results.items()
        }
        for metric in ("psnr", "skill_persistence")
    )
    # As the data's README says, to its two digits.
    assert {name: round(value, 2) for name, value in psnr.items()} == {
        "step00060": 18.62,
        "step00900": 19.01,
        "copy_last": 18.83,
    }
    assert skill["step00060"] < -0.05 < skill["copy_last"] < 0.001 < skill["step00900"]
    assert wbgpu.gate(results["step00060"], results["step00900"]).status == "PASS"
    wbgpu.write_report(results["step00060"], tmp_path / "report.md")
    report = (tmp_path / "report.md").read_text("utf-8")
    assert "worse than copying the last frame" in report
    assert "Worse than copying the last frame (whole frame) at t+9 to t+16" in report
    worse = wbgpu.gate(results["copy_last"], results["step00060"])
    assert worse.status == "FAIL"
    assert {failure.kind for failure in worse.failures} >= {"overall", "metric", "horizon"}


def test_results_are_equal_after_a_round_trip_through_the_file(suite: Path, tmp_path: Path) -> None:
    from wbgpu.records.strict_json import write_json
    from wbgpu.records.worldbench import batch_payload

    result = wbgpu.evaluate(suite / "gt", suite / "predictions", num_context=3)
    write_json(tmp_path / "result.json", batch_payload(result))
    loaded = wbgpu.load_result(tmp_path / "result.json")
    for field in dataclasses.fields(result):
        assert getattr(loaded, field.name) == getattr(result, field.name), field.name


def test_a_trace_holds_every_frame_and_changes_nothing(suite: Path, tmp_path: Path, capsys) -> None:
    """A profile of a run that differs, or that lost a thread, says nothing about the real one."""
    paths = suite / "gt", suite / "predictions"
    trace = tmp_path / "trace.json"
    watched = wbgpu.evaluate(*paths, num_context=3, trace=trace)
    plain = wbgpu.evaluate(*paths, num_context=3)
    assert dataclasses.replace(watched, created_at=plain.created_at) == plain
    assert "Limit: " in capsys.readouterr().err
    spans = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    num_frames = {
        stage: sum(e["args"]["num_frames"] for e in spans if e["name"] == stage)
        for stage in ("open and check", "decode", "pack", "copy to device", "statistics")
    }
    num_scored = 2 * sum(episode.num_steps for episode in plain.episodes)
    assert num_frames["open and check"] == num_scored + 2 * 5 * 3
    # The last context frame of each target is decoded as well.
    assert num_frames["decode"] == num_scored + 5
    assert num_frames["pack"] + num_frames["copy to device"] == num_scored
    assert num_frames["statistics"] == num_scored
    assert "score" in {e["name"] for e in spans}
    for digest in (e for e in spans if e["name"] == "digests"):
        assert digest["args"]["num_bytes"] > 0


def test_from_python_a_profile_needs_a_place(suite: Path) -> None:
    """Otherwise it would be measured and thrown away."""
    with pytest.raises(ConfigurationError, match=r"trace='trace\.json'"):
        evaluate(suite, "profile=true")


def test_first_evaluations_on_several_threads(suite: Path) -> None:
    """Hydra has one global state, which a thread once found taken; a new process has none yet."""
    program = (
        "import logging, sys, threading, lightning.pytorch, wbgpu\n"
        "level = logging.getLogger('lightning.pytorch').level\n"
        "results = []\n"
        "def work():\n"
        "    results.append(wbgpu.evaluate(sys.argv[1], sys.argv[2], num_context=3).episodes)\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "assert len(results) == 3 and results[0] == results[1] == results[2]\n"
        "assert logging.getLogger('lightning.pytorch').level == level\n"
    )
    arguments = [sys.executable, "-c", program, str(suite / "gt"), str(suite / "predictions")]
    outcome = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
