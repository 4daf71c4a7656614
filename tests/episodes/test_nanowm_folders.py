from __future__ import annotations

import pytest

from tests.episodes.nanowm_exports import files
from wbgpu.episodes.nanowm_folders import exported_clips, is_one_clip
from wbgpu.errors import InputError, PairingError


def test_folders_of_videos_and_of_images(tmp_path):
    videos = files(tmp_path / "v", "rt1/b.mp4", "a.mkv", "notes.txt")
    images = files(tmp_path / "i", "rt1/b/000.png", "rt1/b/001.png", "a/0.jpg")
    assert list(exported_clips(videos, "predictions")) == ["a.mkv", "rt1/b.mp4"]
    clips = exported_clips(images, "ground-truth")
    assert list(clips) == ["a", "rt1/b"]
    assert len(clips["rt1/b"].images) == 2
    assert not is_one_clip(videos)
    assert not is_one_clip(images)


def test_one_clip_by_itself(tmp_path):
    images = files(tmp_path / "episode", "0.png", "1.png")
    video = files(tmp_path, "a.mp4") / "a.mp4"
    assert is_one_clip(images)
    assert is_one_clip(video)
    assert list(exported_clips(images, "predictions")) == ["episode"]
    assert list(exported_clips(video, "predictions")) == ["a.mp4"]


def test_what_cannot_be_told_apart_or_is_not_there(tmp_path):
    with pytest.raises(InputError, match="ground-truth path does not exist"):
        exported_clips(tmp_path / "none", "ground-truth")
    with pytest.raises(PairingError, match="no predictions videos, arrays or folders of images"):
        exported_clips(files(tmp_path / "empty", "x.txt"), "predictions")
    with pytest.raises(InputError, match=r"videos and folders of images, such as a.mp4 and .*/b"):
        exported_clips(files(tmp_path / "mixed", "a.mp4", "b/000.png"), "predictions")
    with pytest.raises(PairingError, match="differ only in their extension"):
        exported_clips(files(tmp_path / "twice", "a.mp4", "a.mkv"), "predictions")
    with pytest.raises(InputError, match=r"unsupported extension '.txt'"):
        exported_clips(tmp_path / "empty/x.txt", "predictions")
