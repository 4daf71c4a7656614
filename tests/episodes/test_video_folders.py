from __future__ import annotations

from pathlib import Path

import pytest

from wbgpu.episodes.video_folders import VideoFolders
from wbgpu.errors import ConfigurationError, InputError, PairingError
from wbgpu.records.clip import Clip


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    root.mkdir(exist_ok=True)
    return root


@pytest.mark.parametrize("which", ["gt", "p"])
def test_a_missing_folder_or_a_file_in_its_place_is_named(tmp_path: Path, which: str) -> None:
    make(tmp_path / "gt", "a.mp4")
    make(tmp_path / "p", "a.mp4")
    bad = tmp_path / "bad"
    roots = {"gt": tmp_path / "gt", "p": tmp_path / "p", which: bad}
    with pytest.raises(InputError, match=f"does not exist: {bad}"):
        VideoFolders().pairs(roots["gt"], roots["p"])
    bad.write_text("not a folder")
    with pytest.raises(InputError, match=f"(not a directory: |ground truth ){bad}"):
        VideoFolders().pairs(roots["gt"], roots["p"])


def test_a_folder_without_videos_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(PairingError, match=r"no videos under .*\.webm"):
        VideoFolders().pairs(make(tmp_path / "gt", "frames.png"), make(tmp_path / "p"))


def test_single_files(tmp_path: Path) -> None:
    make(tmp_path, "a.mp4", "b.mkv", "notes.txt")
    (pair,) = VideoFolders().pairs(tmp_path / "a.mp4", tmp_path / "b.mkv")
    assert pair.episode_id == "a.mp4"
    with pytest.raises(InputError, match="prediction video does not exist"):
        VideoFolders().pairs(tmp_path / "a.mp4", tmp_path / "none.mp4")
    with pytest.raises(InputError, match=r"unsupported extension '\.txt'"):
        VideoFolders().pairs(tmp_path / "notes.txt", tmp_path / "b.mkv")
    with pytest.raises(InputError, match="is a file and predictions"):
        VideoFolders().pairs(tmp_path / "a.mp4", tmp_path)


def test_a_model_is_given_the_same_episodes(tmp_path: Path) -> None:
    """Otherwise a checkpoint run live would be compared with other episodes than a saved one."""
    truth = make(tmp_path / "gt", "b.mp4", "nested/a.mp4")
    episodes = VideoFolders().episodes(truth)
    assert [episode.episode_id for episode in episodes] == ["b.mp4", "nested/a.mp4"]
    assert VideoFolders().episodes(truth / "b.mp4")[0].ground_truth == Clip(truth / "b.mp4")


def test_predictions_have_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"suite\.predictions"):
        VideoFolders().pairs(make(tmp_path / "gt", "a.mp4"), None)


def test_a_lerobot_dataset_is_not_taken_for_a_folder_of_videos(tmp_path: Path) -> None:
    """In v3.0 a file holds many episodes, and a live model was scored on it as if it were one."""
    make(tmp_path, "meta/info.json", "data/chunk-000/file-000.parquet")
    make(tmp_path, "videos/front/chunk-000/file-000.mp4")
    with pytest.raises(InputError, match=r"a LeRobot dataset.*suite=lerobot"):
        VideoFolders().episodes(tmp_path)
    assert len(VideoFolders().episodes(tmp_path / "videos")) == 1
