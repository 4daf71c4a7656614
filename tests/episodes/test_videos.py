from __future__ import annotations

import os
from pathlib import Path

import pytest

from wbgpu.episodes.videos import find_videos
from wbgpu.errors import InputError


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    root.mkdir(exist_ok=True)
    return root


def test_extensions_compare_without_case_and_other_files_are_left_out(tmp_path: Path) -> None:
    root = make(tmp_path / "gt", "A.MP4", "b.Webm", "c.npz", "d.mp4.txt", "preview.gif")
    assert list(find_videos(root, "ground-truth")) == ["A.MP4", "b.Webm"]


def test_links_to_files_are_followed_and_links_to_folders_are_not(tmp_path: Path) -> None:
    """O21: a link to a parent folder would otherwise make the walk endless."""
    root = make(tmp_path / "gt", "a.mp4")
    (root / "link.mp4").symlink_to(root / "a.mp4")
    (root / "loop").symlink_to(root, target_is_directory=True)
    assert list(find_videos(root, "ground-truth")) == ["a.mp4", "link.mp4"]


def test_what_is_no_file_is_named_and_not_passed_over(tmp_path: Path) -> None:
    """A link that leads nowhere on both sides would silently make the suite smaller."""
    root = make(tmp_path / "gt", "a.mp4")
    (root / "dangling.mp4").symlink_to(tmp_path / "nowhere.mp4")
    with pytest.raises(InputError, match=r"dangling\.mp4: not a file"):
        find_videos(root, "ground-truth")
    (root / "dangling.mp4").unlink()
    os.mkfifo(root / "fifo.mp4")
    with pytest.raises(InputError, match=r"fifo\.mp4: not a file"):
        find_videos(root, "ground-truth")


def test_a_name_that_is_not_utf8_is_refused_before_the_work(tmp_path: Path) -> None:
    """It cannot be written to a JSON file, which was found out after all the scoring."""
    root = make(tmp_path / "gt", "a.mp4")
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xff.mp4")).write_bytes(b"x")
    with pytest.raises(InputError, match=r"bad\\xff\.mp4.*not UTF-8"):
        find_videos(root, "ground-truth")


def test_an_unreadable_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """os.walk passes over it in silence, on both sides, and the suite is smaller."""
    root = make(tmp_path / "gt", "a.mp4", "closed/b.mp4")

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    listing = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"closed: the folder cannot be read"):
        find_videos(root, "ground-truth")
