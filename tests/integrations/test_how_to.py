"""What the pages about models tell a reader to do, done."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import wbgpu
from tests.conftest import REPOSITORY
from tests.evaluation.live_suites import write_suite
from wbgpu.cli import main
from wbgpu.integrations.lightning import WorldModelEvalCallback


def blocks(page: str, language: str) -> list[str]:
    text = (REPOSITORY / "docs" / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def execute(folder: Path, *command: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outcome = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_the_training_script_runs_and_its_checkpoint_scores_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_suite(tmp_path, (8, 9))
    (tmp_path / "data").mkdir()
    shutil.move(tmp_path / "gt", tmp_path / "data/val")
    script, against_a_baseline = blocks("how-to/training_callback.md", "python")
    (command,) = blocks("how-to/training_callback.md", "bash")
    assert "best: " in execute(tmp_path, sys.executable, "-c", script)
    execute(tmp_path, "bash", "-ec", command)
    offline = wbgpu.load_result(tmp_path / "best.json")
    (checkpoint,) = (tmp_path / "runs/checkpoints").iterdir()
    epoch = int(re.findall(r"epoch=(\d+)", checkpoint.name)[0])
    (logged,) = (tmp_path / "runs/scores").glob(f"epoch{epoch:03d}-*.json")
    assert wbgpu.load_result(logged).episodes == _named_as(offline, logged)
    monkeypatch.chdir(tmp_path)
    exec(against_a_baseline, {"WorldModelEvalCallback": WorldModelEvalCallback})


def _named_as(offline: wbgpu.SuiteResult, logged: Path) -> tuple[wbgpu.EpisodeResult, ...]:
    """The episodes, but for the model's name in the place of a path."""
    import dataclasses

    episodes = []
    for ours, theirs in zip(offline.episodes, wbgpu.load_result(logged).episodes, strict=True):
        assert ours.alignment is not None
        alignment = dataclasses.replace(
            ours.alignment, prediction=theirs.alignment.prediction, target=theirs.alignment.target
        )
        episodes.append(
            dataclasses.replace(
                ours,
                prediction_path=theirs.prediction_path,
                ground_truth_path=theirs.ground_truth_path,
                alignment=alignment,
            )
        )
    return tuple(episodes)


def test_the_page_about_models_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_suite(tmp_path, (8, 9), actions=2)
    (model,) = blocks("models.md", "python")
    project = tmp_path / "my_project"
    project.mkdir()
    (project / "__init__.py").touch()
    (project / "model.py").write_text(model.replace("Fading", "WorldModel"))
    torch.save({}, "last.ckpt")  # of a model without weights
    (block,) = blocks("models.md", "bash")
    commands = block.replace("\\\n", "").splitlines()
    assert len(commands) == 2
    for command in commands:
        assert main.run(shlex.split(command)[1:]) == 0


@pytest.mark.parametrize("page", ["models.md", "how-to/training_callback.md"])
def test_links_lead_somewhere(page: str) -> None:
    folder = (REPOSITORY / "docs" / page).parent
    for target in re.findall(r"\]\(([^)#]+)", (REPOSITORY / "docs" / page).read_text("utf-8")):
        assert (folder / target).exists(), target
