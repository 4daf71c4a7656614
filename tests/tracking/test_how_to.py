"""The page's own tracker keeps the contract that the page says it keeps."""

from __future__ import annotations

import json
import re
from pathlib import Path

from wbgpu.tracking import read_tracks

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
