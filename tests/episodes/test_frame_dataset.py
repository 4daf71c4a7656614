from __future__ import annotations

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from tests.oracles.drawn_scenes import write_episode, write_images
from wbgpu.episodes.frame_dataset import FrameDataset, is_frame_dataset
from wbgpu.episodes.frame_dataset_check import check_dataset
from wbgpu.errors import InputError, PairingError

FRAMES = np.zeros((3, 8, 9, 3), np.uint8)
ACTIONS = [{"t": 0, "action": [1.0, 2.0]}, {"t": 1, "action": [3.0, 4.0]}]


@pytest.fixture
def dataset(tmp_path):
    root = tmp_path / "dataset"
    for name in ("episode_001", "episode_002"):
        write_episode(root, name, FRAMES, FRAMES, ACTIONS)
    return root


def _folders(pairs):
    return [(pair.episode_id, pair.prediction.path) for pair in pairs]


def test_an_episode_is_its_frames_and_signals(dataset):
    """What metrics and models are given."""
    first, second = FrameDataset().episodes(dataset)
    assert (first.episode_id, second.episode_id) == ("episode_001", "episode_002")
    assert [path.name for path in first.ground_truth.images] == ["000.png", "001.png", "002.png"]
    assert first.ground_truth.fps == 5
    assert first.signals.action_vectors.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert first.signals.actions == tuple(ACTIONS)
    assert first.signals.metadata["robot"] == "synthetic_2d_arm"
    assert set(first.signals.files) == {"actions", "states", "metadata"}


def test_predictions_lie_where_worldbench_looks_for_them(dataset, tmp_path):
    """Within the dataset, <root>/<episode>/predictions, or <root>/<episode>."""
    names = ("episode_001", "episode_002")
    within = [(name, dataset / name / "predictions") for name in names]
    assert _folders(FrameDataset().pairs(dataset, None)) == within
    assert _folders(FrameDataset().pairs(dataset, dataset)) == within
    model = tmp_path / "model"
    for name in names:
        write_images(model / name, FRAMES)
    assert _folders(FrameDataset().pairs(dataset, model)) == [(n, model / n) for n in names]
    (one,) = FrameDataset().pairs(dataset, dataset / "episode_002" / "predictions")
    assert one.episode_id == "episode_002"


def test_flat_images_belong_to_the_only_episode(dataset, tmp_path):
    """worldbench uses them for every episode."""
    flat = tmp_path / "flat"
    write_images(flat, FRAMES)
    with pytest.raises(PairingError, match="the dataset has 2"):
        FrameDataset().pairs(dataset, flat)
    alone = tmp_path / "alone"
    write_episode(alone, "episode_009", FRAMES, None, ACTIONS)
    assert _folders(FrameDataset().pairs(alone, flat)) == [("episode_009", flat)]


def test_what_does_not_pair_up_is_named(dataset, tmp_path):
    """worldbench scores a missing folder 0.0 and exits with 0."""
    with pytest.raises(InputError, match="nowhere: does not exist"):
        FrameDataset().pairs(dataset, tmp_path / "nowhere")
    model = tmp_path / "model"
    write_images(model / "episode_001", FRAMES)
    write_images(model / "episode_003", FRAMES)
    with pytest.raises(
        PairingError, match=r"(?s)Missing.*1\n  episode_002.*only.*1\n  episode_003"
    ):
        FrameDataset().pairs(dataset, model)
    elsewhere = tmp_path / "other" / "episode_007" / "predictions"
    write_images(elsewhere, FRAMES)
    with pytest.raises(PairingError, match="no episode 'episode_007'"):
        FrameDataset().pairs(dataset, elsewhere)


def test_videos_of_an_episodes_name_are_its_predictions(dataset, tmp_path):
    """A model may have saved videos for a dataset of images."""
    videos = tmp_path / "videos"
    videos.mkdir()
    for name in ("episode_001.mp4", "episode_002.mp4"):
        (videos / name).write_bytes(b"")
    found = FrameDataset().pairs(dataset, videos)
    assert [pair.prediction.path.name for pair in found] == ["episode_001.mp4", "episode_002.mp4"]


def test_all_faults_of_a_dataset_are_listed(dataset):
    """With the file and the place of each."""
    (dataset / "episode_001/actions.json").write_text('[{"t": 0, "dx": "a"}]')
    (dataset / "episode_002/states.json").unlink()
    (dataset / "episode_002/frames/001.png").unlink()
    with pytest.raises(
        InputError, match=r"(?s)3 fault\(s\).*\$\[0\]\.dx.*missing: 1.*states\.json"
    ):
        FrameDataset().episodes(dataset)


@pytest.mark.parametrize("make", [False, True])
def test_what_is_no_dataset_is_refused(tmp_path, make):
    """An empty suite has no score."""
    root = tmp_path / "root"
    if make:
        root.mkdir()
    assert not is_frame_dataset(root)
    with pytest.raises(InputError, match=r"root: (does not exist|no folders episode_)"):
        FrameDataset().episodes(root)


def test_a_sane_dataset_is_valid(dataset):
    """Its own check must not cry wolf."""
    report = check_dataset(dataset)
    assert (report.is_valid, report.num_episodes, report.num_frames) == (True, 2, 6)
    assert report.warnings == ()
    assert is_frame_dataset(dataset)


def test_the_check_names_sizes_and_counts(dataset):
    """What is wrong with images, and unusual about counts, before a run of hours."""
    Image.fromarray(FRAMES[0, :4]).save(dataset / "episode_001/frames/001.png")
    (dataset / "episode_002/predictions/002.png").write_bytes(b"no image")
    (dataset / "episode_001/predictions/002.png").unlink()
    (dataset / "episode_001/actions.json").write_text("[]")
    (dataset / "episode_002/states.json").write_text('[{"t": 0}]')
    report = check_dataset(dataset)
    assert [error.partition(":")[0].rpartition("dataset/")[2] for error in report.errors] == [
        "episode_001/frames/001.png",
        "episode_002/predictions/002.png",
    ]
    assert [warning.partition(":")[2] for warning in report.warnings] == [
        " 0 actions for 3 frames; expected 2, one from each to the next. What has no action is not "
        "scored for it",
        " 2 images, but the episode has 3 frames; the first 2 are scored, unless the difference is "
        "too large",
        " 1 states for 3 frames",
    ]


def test_the_check_refuses_what_a_run_would_refuse(dataset):
    """It said "valid" of images that no run takes, and crashed on one of a huge claim."""
    frames = dataset / "episode_001/frames"
    animation = [Image.new("RGB", (9, 8), (value, 0, 0)) for value in (0, 200)]
    animation[0].save(frames / "000.png", save_all=True, append_images=animation[1:])
    Image.fromarray(np.full((8, 9), 3000, np.uint16)).save(frames / "001.png")
    huge = bytearray((frames / "002.png").read_bytes())
    huge[16:24] = struct.pack(">II", 60_000, 60_000)
    huge[29:33] = struct.pack(">I", zlib.crc32(bytes(huge[12:29])))
    (frames / "002.png").write_bytes(huge)
    first, second, third = check_dataset(dataset).errors
    assert "000.png: the image is an animation" in first
    assert "001.png: the image has more than 8 bits" in second
    assert "002.png: not an image that can be read (Image size (3600000000 pixels)" in third


def test_an_episode_whose_name_is_not_utf8_is_named(dataset):
    """No result could hold it."""
    (dataset / "episode_002").rename(dataset / os.fsdecode(b"episode_\xff"))
    with pytest.raises(InputError, match=r"b'episode_\\xff' is not UTF-8"):
        FrameDataset().episodes(dataset)


def test_a_lerobot_dataset_is_named_as_one(tmp_path):
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text("{}")
    (tmp_path / "data").mkdir()
    with pytest.raises(InputError, match=r"suite=lerobot.*wbgpu import-lerobot"):
        FrameDataset().episodes(tmp_path)
