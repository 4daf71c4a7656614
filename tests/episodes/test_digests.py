from __future__ import annotations

import hashlib
import json
from pathlib import Path

from wbgpu.episodes.digests import dataset_identifier, file_sha256
from wbgpu.episodes.pairing import find_videos


def test_file_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(data)
    assert file_sha256(tmp_path / "a") == hashlib.sha256(data).hexdigest()


def test_identifier_equals_worldbenchs_on_the_golden_videos(shared: Path) -> None:
    """A gate across the two tools refuses different identifiers."""
    expected = json.loads((shared / "golden/expected/video_batch.json").read_text("utf-8"))
    files = find_videos(shared / "golden/gt", "ground-truth")
    assert dataset_identifier(files) == expected["baseline_skip0"]["dataset_identifier"]


def test_identifier_depends_on_ids_and_bytes_and_not_on_order(tmp_path: Path) -> None:
    for name, text in (("a", "1"), ("b", "2"), ("c", "2")):
        (tmp_path / name).write_text(text)
    ab = dataset_identifier({"a": tmp_path / "a", "b": tmp_path / "b"})
    assert ab == dataset_identifier({"b": tmp_path / "b", "a": tmp_path / "a"})
    assert ab != dataset_identifier({"a": tmp_path / "b", "b": tmp_path / "a"})
    assert ab != dataset_identifier({"a": tmp_path / "a", "c": tmp_path / "c"})
