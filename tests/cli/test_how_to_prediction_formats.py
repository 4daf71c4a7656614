"""The commands of docs/how-to/prediction_formats.md and docs/corruptions.md, run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import wbgpu
from tests.conftest import REPOSITORY
from tests.corruptions.videos import textured_video
from wbgpu.cli.main import run
from wbgpu.video.encode import write_video


def commands(page):
    """Lines of the page's shell blocks, as arguments."""
    blocks = re.findall(r"```bash\n(.*?)```", (REPOSITORY / page).read_text("utf-8"), re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders that the pages name."""
    monkeypatch.chdir(tmp_path)
    truth, prediction = textured_video(12), textured_video(12, seed=1)
    array = prediction.permute(0, 2, 3, 1).numpy()
    write_video("gt/a/b.mp4", truth, 5, lossless=True)
    write_video("step00900/a/b.mp4", prediction, 5, lossless=True)
    write_video("logged/a.mp4", torch.cat((truth, prediction), 3), 5, lossless=True)
    for folder in ("arrays/a", "floats/a", "images/a/b"):
        Path(folder).mkdir(parents=True)
    np.save("arrays/a/b.npy", array)
    np.save("floats/a/b.npy", array.astype(np.float32) / 127.5 - 1)
    for index, frame in enumerate(array):
        Image.fromarray(frame).save(f"images/a/b/{index}.png")
    for name, video in (("truths", truth), ("rollouts", prediction)):
        tile = torch.nn.functional.pad(video, (2, 0, 2, 0))
        grid = torch.nn.functional.pad(tile.repeat(1, 1, 2, 4), (0, 2, 0, 2))
        write_video(f"{name}/step900.mp4", grid, 5, lossless=True)
    return tmp_path


@pytest.mark.parametrize("number", range(5))
def test_prediction_formats(folders, number):
    """What a user copies first."""
    found = commands("docs/how-to/prediction_formats.md")
    assert len(found) == 5
    is_batch = found[number][1] == "eval-batch"
    run_folder = ["--output", "batch.json"] if is_batch else ["hydra.run.dir=out"]
    assert run([*found[number][1:], *run_folder]) == 0
    result = wbgpu.load_result("batch.json" if is_batch else "out/batch.json")
    num_episodes = 8 if "suite=rollout_grid" in found[number] else 1
    assert len(result.episodes) == num_episodes
    assert all(episode.num_steps == (8 if number < 4 else 12) for episode in result.episodes)


@pytest.mark.parametrize("number", range(2))
def test_corruptions(folders, number, capsys):
    found = commands("docs/corruptions.md")
    assert len(found) == 2
    assert run([*found[number][1:], "corruption=[freeze]", "metrics=[psnr]", "severities=[1]"]) == 0
    assert "1 episode of gt" in capsys.readouterr().out


def test_the_corruption_of_the_page_keeps_the_contract():
    (code,) = re.findall(
        r"```python\n(.*?)```", (REPOSITORY / "docs/corruptions.md").read_text("utf-8"), re.DOTALL
    )
    names: dict[str, object] = {}
    exec(code, names)
    assert "Reversed" in names
