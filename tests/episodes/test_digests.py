from __future__ import annotations

import hashlib
import json
from pathlib import Path

from wbgpu.episodes.digests import clip_sha256, dataset_identifier, file_sha256
from wbgpu.episodes.videos import find_videos
from wbgpu.records.clip import Clip


def test_file_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(data)
    assert file_sha256(tmp_path / "a") == hashlib.sha256(data).hexdigest()


def test_identifier_equals_worldbenchs_on_the_golden_videos(shared: Path) -> None:
    """A gate across the two tools refuses different identifiers."""
    expected = json.loads((shared / "golden/expected/video_batch.json").read_text("utf-8"))
    videos = find_videos(shared / "golden/gt", "ground-truth")
    clips = {name: Clip(path) for name, path in videos.items()}
    assert dataset_identifier(clips) == expected["baseline_skip0"]["dataset_identifier"]


def test_identifier_depends_on_ids_and_bytes_and_not_on_order(tmp_path: Path) -> None:
    for name, text in (("a", "1"), ("b", "2"), ("c", "2")):
        (tmp_path / name).write_text(text)
    a, b, c = (Clip(tmp_path / name) for name in "abc")
    ab = dataset_identifier({"a": a, "b": b})
    assert ab == dataset_identifier({"b": b, "a": a})
    assert ab != dataset_identifier({"a": b, "b": a})
    assert ab != dataset_identifier({"a": a, "c": c})


def test_identifier_says_which_part_of_a_file(tmp_path: Path) -> None:
    """Episodes of one file differ only in their frames; other frames are another dataset."""
    path = tmp_path / "all.mp4"
    path.write_text("1")
    parts = [Clip(path, frames=(0, 9)), Clip(path, frames=(9, 12)), Clip(path)]
    assert len({dataset_identifier({"a": part}) for part in parts}) == 3
    assert {clip_sha256(part) for part in parts} == {file_sha256(path)}


def test_images_are_digested_in_order_by_name_and_bytes(tmp_path: Path) -> None:
    """The same pictures in another order are another video."""
    images = [tmp_path / f"{i}.png" for i in range(3)]
    for index, image in enumerate(images):
        image.write_text(str(index % 2))
    listing = "".join(f"{file_sha256(image)}  {image.name}\n" for image in images)
    expected = hashlib.sha256(listing.encode()).hexdigest()
    assert clip_sha256(Clip(tmp_path, images=tuple(images))) == expected
    assert clip_sha256(Clip(tmp_path, images=tuple(reversed(images)))) != expected


def test_a_file_that_clips_share_is_read_once(tmp_path: Path) -> None:
    """A hundred episodes in a file of a gigabyte would be a hundred gigabytes to read."""
    path, known = tmp_path / "all.mp4", dict[Path, str]()
    path.write_text("1")
    first = clip_sha256(Clip(path, frames=(0, 3)), known=known)
    assert known == {path: first}
    path.unlink()
    assert clip_sha256(Clip(path, frames=(3, 5)), known=known) == first
