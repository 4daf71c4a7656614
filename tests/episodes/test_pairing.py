from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from wbgpu.episodes.pairing import pairing_key
from wbgpu.episodes.video_folders import VideoFolders
from wbgpu.errors import PairingError


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
    pairs = VideoFolders().pairs(truth, predictions)
    assert [p.episode_id for p in pairs] == [
        "episode_001.mp4",
        "nested/episode_002.mp4",
        "sub dir/é (ü).mp4",
    ]
    assert pairs[1].prediction.path == predictions / "nested/episode_002.mkv"


def test_missing_and_extra_predictions_are_named_in_one_message(tmp_path: Path) -> None:
    """P39: a user must see the whole damage at once, not one name a run."""
    truth = make(tmp_path / "gt", "a.mp4", "b.mp4", "c.mp4")
    predictions = make(tmp_path / "p", "b.mp4", "x/d.mp4")
    with pytest.raises(PairingError) as error:
        VideoFolders().pairs(truth, predictions)
    text = str(error.value)
    assert "Matched episodes: 1" in text
    assert "Missing predictions: 2\n  a.mp4\n  c.mp4" in text
    assert "Prediction-only episodes: 1\n  x/d.mp4" in text


def test_two_videos_of_one_name_are_a_duplicate_not_a_guess(tmp_path: Path) -> None:
    truth = make(tmp_path / "gt", "a.mp4")
    predictions = make(tmp_path / "p", "a.mp4", "a.webm")
    with pytest.raises(PairingError, match=r"duplicate episodes.*\n  a\.mp4 and a\.webm"):
        VideoFolders().pairs(truth, predictions)


def test_long_lists_are_cut_with_a_count(tmp_path: Path) -> None:
    truth = make(tmp_path / "gt", *(f"e{i:03}.mp4" for i in range(30)))
    with pytest.raises(PairingError, match=r"\.\.\. and 10 more"):
        VideoFolders().pairs(truth, make(tmp_path / "p"))


def test_one_name_in_two_unicode_forms_is_one_episode(tmp_path: Path) -> None:
    """Names copied from macOS are decomposed; the episode would count as missing and as extra."""
    truth = make(tmp_path / "gt", unicodedata.normalize("NFD", "épisode.mp4"))
    predictions = make(tmp_path / "p", unicodedata.normalize("NFC", "épisode.mp4"))
    (pair,) = VideoFolders().pairs(truth, predictions)
    assert pair.episode_id == unicodedata.normalize("NFD", "épisode.mp4")


def test_a_dot_in_a_name_is_no_extension() -> None:
    """Folders of images run.1 and run.2 would be one episode."""
    assert pairing_key("runs/run.1") == "runs/run.1"
    assert pairing_key("runs/run.1.MP4") == "runs/run.1"
