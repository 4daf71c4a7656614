from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from wbgpu.episodes.predictions import find_clips, prediction_clip
from wbgpu.episodes.video_folders import VideoFolders
from wbgpu.errors import InputError
from wbgpu.records.clip import Clip


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    root.mkdir(exist_ok=True)
    return root


@pytest.mark.parametrize("kind", ["mp4", "gif", "npy", "npz", "safetensors"])
def test_files_are_found_below_folders(tmp_path, kind):
    root = make(tmp_path / "p", f"a.{kind}", f"nested/b.{kind.upper()}", "notes.txt")
    assert find_clips(root) == {
        f"a.{kind}": Clip(root / f"a.{kind}"),
        f"nested/b.{kind.upper()}": Clip(root / f"nested/b.{kind.upper()}"),
    }


def test_folders_of_images_are_in_the_order_of_their_numbers(tmp_path):
    root = make(tmp_path / "p", *(f"a/{i}.png" for i in (10, 9, 8)), "nested/b/000.jpg", "a/.x.png")
    clips = find_clips(root)
    assert list(clips) == ["a", "nested/b"]
    assert [path.name for path in clips["a"].images] == ["8.png", "9.png", "10.png"]
    with pytest.raises(InputError, match="missing: 2"):
        find_clips(make(tmp_path / "q", "a/1.png", "a/3.png"))


def test_what_lies_beside_videos_is_not_taken_for_predictions(tmp_path):
    """Logits, actions and contact sheets stood beside predictions before arrays were read."""
    root = make(tmp_path / "p", "a.mp4", "a.safetensors", "b.npy", "sheets/a.png", "a.gif")
    assert list(find_clips(root)) == ["a.mp4"]


@pytest.mark.parametrize("name", ["a.npy", "a.gif", "a/000.png"])
def test_each_kind_pairs_with_a_video_of_the_same_name(tmp_path, name):
    truth = make(tmp_path / "gt", "a.mp4")
    (pair,) = VideoFolders().pairs(truth, make(tmp_path / "p", name))
    assert pair.episode_id == "a.mp4"
    assert tmp_path / "p" / name in pair.prediction.files


def test_one_prediction_by_itself(tmp_path):
    folder = tmp_path / "rollout"
    folder.mkdir()
    Image.new("RGB", (4, 4)).save(folder / "000.png")
    truth = make(tmp_path, "gt.mp4", "p.npz", "p.txt")
    (pair,) = VideoFolders().pairs(truth / "gt.mp4", folder)
    assert pair.prediction.images == (folder / "000.png",)
    assert prediction_clip(tmp_path / "p.npz") == Clip(tmp_path / "p.npz")
    with pytest.raises(InputError, match=r"unsupported extension '.txt'.*or a folder of images"):
        prediction_clip(tmp_path / "p.txt")
    with pytest.raises(InputError, match="does not exist"):
        prediction_clip(tmp_path / "none")
