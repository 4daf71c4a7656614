from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from wbgpu.episodes.pairing import find_videos, pair_episodes, pair_files
from wbgpu.errors import InputError, PairingError


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    root.mkdir(exist_ok=True)
    return root


def test_nested_folders_pair_by_relative_path_and_keep_the_extension_in_the_id(
    tmp_path: Path,
) -> None:
    """P32: otherwise episode ids would not match worldbench's and no gate across tools works."""
    truth = make(tmp_path / "gt", "nested/episode_002.mp4", "episode_001.mp4", "sub dir/é (ü).mp4")
    predictions = make(
        tmp_path / "p", "nested/episode_002.mkv", "episode_001.mp4", "sub dir/é (ü).mp4"
    )
    pairs = pair_episodes(truth, predictions)
    assert [p.episode_id for p in pairs] == [
        "episode_001.mp4",
        "nested/episode_002.mp4",
        "sub dir/é (ü).mp4",
    ]
    assert pairs[1].prediction == predictions / "nested/episode_002.mkv"


def test_missing_and_extra_predictions_are_named_in_one_message(tmp_path: Path) -> None:
    """P39: a user must see the whole damage at once, not one name a run."""
    truth = make(tmp_path / "gt", "a.mp4", "b.mp4", "c.mp4")
    predictions = make(tmp_path / "p", "b.mp4", "x/d.mp4")
    with pytest.raises(PairingError) as error:
        pair_episodes(truth, predictions)
    text = str(error.value)
    assert "Matched episodes: 1" in text
    assert "Missing predictions: 2\n  a.mp4\n  c.mp4" in text
    assert "Prediction-only episodes: 1\n  x/d.mp4" in text


def test_two_videos_of_one_name_are_a_duplicate_not_a_guess(tmp_path: Path) -> None:
    truth = make(tmp_path / "gt", "a.mp4")
    predictions = make(tmp_path / "p", "a.mp4", "a.webm")
    with pytest.raises(PairingError, match=r"duplicate episodes.*\n  a\.mp4 and a\.webm"):
        pair_episodes(truth, predictions)


def test_long_lists_are_cut_with_a_count(tmp_path: Path) -> None:
    truth = make(tmp_path / "gt", *(f"e{i:03}.mp4" for i in range(30)))
    with pytest.raises(PairingError, match=r"\.\.\. and 10 more"):
        pair_episodes(truth, make(tmp_path / "p"))


@pytest.mark.parametrize("which", ["gt", "p"])
def test_a_missing_folder_or_a_file_in_its_place_is_named(tmp_path: Path, which: str) -> None:
    make(tmp_path / "gt", "a.mp4")
    make(tmp_path / "p", "a.mp4")
    bad = tmp_path / "bad"
    roots = {"gt": tmp_path / "gt", "p": tmp_path / "p", which: bad}
    with pytest.raises(InputError, match=f"does not exist: {bad}"):
        pair_episodes(roots["gt"], roots["p"])
    bad.write_text("not a folder")
    with pytest.raises(InputError, match=f"not a directory: {bad}"):
        pair_episodes(roots["gt"], roots["p"])


def test_a_folder_without_videos_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(PairingError, match=r"no videos under .*\.webm"):
        pair_episodes(make(tmp_path / "gt", "frames.png"), make(tmp_path / "p"))


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


def test_one_name_in_two_unicode_forms_is_one_episode(tmp_path: Path) -> None:
    """Names copied from macOS are decomposed; the episode would count as missing and as extra."""
    truth = make(tmp_path / "gt", unicodedata.normalize("NFD", "épisode.mp4"))
    predictions = make(tmp_path / "p", unicodedata.normalize("NFC", "épisode.mp4"))
    (pair,) = pair_episodes(truth, predictions)
    assert pair.episode_id == unicodedata.normalize("NFD", "épisode.mp4")


def test_single_files(tmp_path: Path) -> None:
    make(tmp_path, "a.mp4", "b.mkv", "notes.txt")
    assert pair_files(tmp_path / "a.mp4", tmp_path / "b.mkv").episode_id == "a.mp4"
    with pytest.raises(InputError, match="prediction video does not exist"):
        pair_files(tmp_path / "a.mp4", tmp_path / "none.mp4")
    with pytest.raises(InputError, match=r"unsupported extension '\.txt'"):
        pair_files(tmp_path / "notes.txt", tmp_path / "b.mkv")
    with pytest.raises(InputError, match="not a file"):
        pair_files(tmp_path, tmp_path / "b.mkv")
