"""docs/how-to/lerobot.md: its commands are run as they stand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.episodes.lerobot.datasets import write_dataset
from wbgpu.cli.main import run
from wbgpu.video.encode import write_video

PAGE = (REPOSITORY / "docs/how-to/lerobot.md").read_text("utf-8")


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Lines of the page's shell blocks, in a folder with what they name."""
    monkeypatch.chdir(tmp_path)
    written = write_dataset(tmp_path / "datasets/pusht", num_frames=(6, 5, 7))
    for index, frames in enumerate(written.frames):
        write_video(tmp_path / f"predictions/episode_{index:06d}.mp4", frames, 5, lossless=True)
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "shifted.py").write_text(script)
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    return [[shlex.split(line) for line in block.splitlines()] for block in blocks]


def test_the_pages_commands(commands, capsys, monkeypatch, tmp_path):
    """What a user copies first."""
    install, in_place, live, imports = commands
    assert install == [["pip", "install", ".[lerobot]"]]
    for command in in_place:
        assert run(command[1:]) == 0
        assert "Episodes evaluated: 3" in capsys.readouterr().out
    shifted, copied, gate = live
    assert run(shifted[1:]) == run(copied[1:]) == 0
    assert run(gate[1:]) in (0, 1)
    root = tmp_path / "datasets/pusht"
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(root))
    for command in imports:
        assert run(command[1:]) == 0
    documents = [
        json.loads(Path(folder, "episode_000002/metadata.json").read_text())
        for folder in ("frames/pusht", "frames/pusht_control", "frames/pusht_hub")
    ]
    assert [d["timeline"] for d in documents] == ["video", "control", "video"]
    explained = set(re.findall(r"`(\w+)`", PAGE))
    told_elsewhere = {"name", "robot", "task", "fps", "description"}
    assert set().union(*documents) - told_elsewhere <= explained


def test_the_pages_keys(commands):
    """As it stands in a shell, quotes and all."""
    camera, episodes = re.findall(r"^\| `('?suite\.layout.*?)`", PAGE, re.MULTILINE)
    base = commands[1][1][1:]
    assert run([*base, *shlex.split(camera)]) == 0
    assert run([*base, *shlex.split(episodes.replace("7,2", "2"))]) == 0
