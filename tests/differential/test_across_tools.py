"""One checkpoint scored by worldbench, the other by wbgpu: each tool gates the other's files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wbgpu.cli.demo_suite import draw_episode
from wbgpu.cli.main import run
from wbgpu.video.encode import write_video

WORLDBENCH = "import sys; from worldbench.cli import app; app(sys.argv[1:])"


def worldbench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The real command line of worldbench 0.4.1, in its own process."""
    command = [sys.executable, "-c", WORLDBENCH, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read(path: str | Path) -> Any:
    return json.loads(Path(path).read_text("utf-8"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints, each scored by both tools: {good,bad}-{ours,theirs}.json."""
    folder = tmp_path_factory.mktemp("tools")
    generator = np.random.default_rng(11)
    for index in range(3):
        truth = draw_episode(generator, 7)
        write_video(folder / f"gt/{index}.mp4", truth, fps=5)
        for name, spread in (("good", 3), ("bad", 25)):
            noise = generator.normal(0, spread, truth.shape)
            prediction = np.clip(truth + noise, 0, 255).astype(np.uint8)
            write_video(folder / f"{name}/{index}.mp4", prediction, fps=5)
    for name in ("good", "bad"):
        arguments = ["eval-batch", "--ground-truth", str(folder / "gt"), "--skip-context", "2"]
        arguments += ["--predictions", str(folder / name), "--output-root", str(folder / "runs")]
        assert run([*arguments, "--output", str(folder / f"{name}-ours.json")]) == 0
        theirs = worldbench(*arguments, "--output", folder / f"{name}-theirs.json")
        assert theirs.returncode == 0, theirs.stderr
    return folder


@pytest.mark.parametrize("baseline", ["good-ours", "bad-ours", "good-theirs", "bad-theirs"])
@pytest.mark.parametrize("candidate", ["good-ours", "bad-ours", "good-theirs", "bad-theirs"])
def test_both_gates_agree_on_every_mix_of_files(
    files: Path, tmp_path: Path, baseline: str, candidate: str
) -> None:
    """A team switches one job at a time; its gate must not depend on who wrote which file."""
    arguments = ["gate", "--baseline", files / f"{baseline}.json"]
    arguments += ["--candidate", files / f"{candidate}.json", "--output-root"]
    theirs = worldbench(*arguments, tmp_path / "theirs")
    ours = run([*map(str, arguments), str(tmp_path / "ours")])
    assert ours == theirs.returncode
    assert ours == (1 if baseline.startswith("good") and candidate.startswith("bad") else 0)
    left = read(tmp_path / "ours/latest/gate.json")
    right = read(tmp_path / "theirs/latest/gate.json")
    for key in right.keys() - {"created_at", "thresholds", "failure_reasons", "coverage"}:
        assert left[key] == right[key], key
    assert right["thresholds"].items() <= left["thresholds"].items()
    assert right["coverage"].items() <= left["coverage"].items()
    assert left["failure_reasons"] == right["failure_reasons"]


def test_worldbenchs_other_commands_accept_our_files(files: Path, tmp_path: Path) -> None:
    from worldbench.dashboard import build_dashboard_html, load_result_or_evaluate

    for name in ("good", "bad"):
        arguments = ["eval-video", "--ground-truth", str(files / "gt/0.mp4"), "--prediction"]
        arguments += [str(files / f"{name}/0.mp4"), "--output-root", str(tmp_path / name)]
        assert run(arguments) == 0
    good, bad = (tmp_path / name / "latest/result.json" for name in ("good", "bad"))
    report = worldbench("report", good, "--output", tmp_path / "report.md")
    assert report.returncode == 0, report.stderr
    assert "Visual Similarity" in (tmp_path / "report.md").read_text("utf-8")
    compared = worldbench("compare", good, bad, "--output-root", tmp_path / "compared")
    assert compared.returncode == 0, compared.stderr
    comparison = read(tmp_path / "compared/latest/comparison.json")
    assert comparison["overall"]["delta"] != 0
    page = build_dashboard_html(load_result_or_evaluate(good), {})
    assert f"{read(good)['score']:.1f}" in page
