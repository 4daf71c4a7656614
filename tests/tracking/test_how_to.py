"""The page's own tracker keeps the contract that the page says it keeps."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from tests.corruptions.videos import textured_video
from wbgpu.cli.main import run
from wbgpu.tracking import read_tracks
from wbgpu.video.encode import write_video

PAGE = Path(__file__).resolve().parents[2] / "docs/trackers.md"


def _blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_tracker_of_the_page_works():
    """It ends in check_tracker."""
    (code,) = [block for block in _blocks("python") if "check_tracker" in block]
    exec(compile(code, str(PAGE), "exec"), {})


def test_the_file_of_the_page_is_read(tmp_path):
    """Somebody will copy it."""
    (block,) = _blocks("json")
    path = tmp_path / "tracks.json"
    path.write_text(json.dumps(json.loads(block)))
    assert read_tracks(path).seen.tolist() == [[True, True], [True, False]]


def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    """Quotes and all; the tracks of the second are in contact from the fifth frame on."""
    monkeypatch.chdir(tmp_path)
    frames = textured_video(8)
    for folder in ("gt", "step00900"):
        write_video(tmp_path / folder / "a.mp4", frames, 5, lossless=True)
    rows = [[[10, 10], [40 if step < 4 else 12, 10]] for step in range(8)]
    for side in ("target", "prediction"):
        (tmp_path / "tracks" / side).mkdir(parents=True)
        tracks = {"names": ["robot", "object"], "position": rows}
        (tmp_path / "tracks" / side / "a.json").write_text(json.dumps(tracks))
    commands = [shlex.split(block.replace("\\\n", " "))[1:] for block in _blocks("bash")]
    assert len(commands) == 2
    for command, name in zip(commands, ("track_error", "contact_agreement"), strict=True):
        assert run(command) == 0
        assert re.search(rf"^{name} +mean [01](\.0+)? ", capsys.readouterr().out, re.MULTILINE)
