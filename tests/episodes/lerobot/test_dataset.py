"""What each format says is read as it was written, and every fault is named by file and field."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.episodes.lerobot.datasets import (
    FRONT,
    change_column,
    change_info,
    fixed,
    save,
    write_dataset,
)
from wbgpu.episodes.lerobot.dataset import LeRobotDataset
from wbgpu.episodes.lerobot.layout import LeRobotLayout
from wbgpu.errors import (
    ConfigurationError,
    InputError,
    PairingError,
    VideoError,
    WbgpuError,
)
from wbgpu.video.clip_reader import open_clip
from wbgpu.video.pyav import PyavDecoder

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
VIDEO = f"videos/{FRONT}"


@pytest.mark.parametrize(
    ("version", "rows_per_frame"), [("v2.0", 1), ("v2.1", 1), ("v3.0", 1), ("v3.0", 3)]
)
def test_frames_actions_and_states_are_those_written(
    tmp_path: Path, version: str, rows_per_frame: int
) -> None:
    """An offset of one frame or row would score every action against the wrong picture."""
    written = write_dataset(tmp_path / "ds", version, rows_per_frame=rows_per_frame)
    episodes = LeRobotLayout().episodes(tmp_path / "ds")
    assert [e.episode_id for e in episodes] == [f"episode_{i:06d}" for i in range(3)]
    for index, episode in enumerate(episodes):
        with open_clip(episode.ground_truth, PyavDecoder()) as reader:
            frames = reader.read(0, reader.info.num_frames)
        assert torch.equal(frames, written.frames[index])
        signals = episode.signals
        assert signals is not None
        chosen = slice(None, None, rows_per_frame)
        np.testing.assert_array_equal(signals.action_vectors, written.actions[index][chosen])
        np.testing.assert_array_equal(signals.state_vectors, written.states[index][chosen])
        assert signals.action_vectors.dtype == np.float32
        assert signals.action_names == ("x", "y")
        assert signals.state_names is None, "one name for three elements names none of them"
        assert len(signals.actions) == len(signals.states) == len(frames)
        assert signals.metadata["task"] == "push"
        assert signals.metadata["source_control_steps"] == len(written.actions[index])


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_what_the_real_library_reads(shared: Path, version: str) -> None:
    """AV1, several episodes in one file: LeRobot's own reading of every frame and row."""
    folder = shared / "data/lerobot"
    expected = json.loads((folder / f"expected_{version}.json").read_text())["rows"]
    found = []
    for episode in LeRobotLayout().episodes(folder / version):
        signals = episode.signals
        with open_clip(episode.ground_truth, PyavDecoder()) as reader:
            frames = reader.read(0, reader.info.num_frames).permute(0, 2, 3, 1)
        for frame, action, state, record in zip(
            frames, signals.action_vectors, signals.state_vectors, signals.states, strict=True
        ):
            found.append((episode.episode_id, frame, action, state, record, signals.metadata))
    assert len(found) == len(expected) == 54
    for (episode_id, frame, action, state, record, metadata), row in zip(
        found, expected, strict=True
    ):
        assert episode_id == f"episode_{row['episode_index']:06d}"
        assert record["t"] == row["frame_index"]
        assert record["source_control_index"] == row["index"]
        assert np.float32(record["source_control_timestamp"]) == np.float32(row["timestamp"])
        assert state.tolist() == row["state"]
        assert action.astype(np.float64).sum() == pytest.approx(row["action_sum"], abs=1e-6)
        assert md5(frame) == row["rgb24_md5_prefix"]
        assert metadata["task"] == row["task"]


def md5(frame: torch.Tensor) -> str:
    import hashlib

    return hashlib.md5(frame.contiguous().numpy().tobytes(), usedforsecurity=False).hexdigest()[:8]


def test_cameras(tmp_path: Path) -> None:
    """A camera chosen silently would be compared with predictions of another."""
    root = tmp_path / "ds"
    write_dataset(root, cameras=(FRONT, "observation.images.wrist"))
    with pytest.raises(ConfigurationError, match=r"several, name one of .*front.*wrist"):
        LeRobotDataset(root)
    assert LeRobotDataset(root, "observation.images.wrist").camera == "observation.images.wrist"
    with pytest.raises(ConfigurationError, match=r"'top' is no video of the dataset; videos"):
        LeRobotDataset(root, "top")
    with pytest.raises(ConfigurationError, match=r"'action' is no video .* but float32"):
        LeRobotDataset(root, "action")


def test_a_dataset_kept_as_images_is_refused(tmp_path: Path) -> None:
    """It would otherwise look like one without cameras."""
    write_dataset(tmp_path / "ds", cameras=())
    info = json.loads((tmp_path / "ds/meta/info.json").read_text())
    info["features"]["observation.image"] = {"dtype": "image", "shape": [24, 32, 3]}
    change_info(tmp_path / "ds", features=info["features"], video_path=None)
    with pytest.raises(InputError, match=r"observation\.image is kept as images"):
        LeRobotDataset(tmp_path / "ds")


def test_a_dataset_without_actions(tmp_path: Path) -> None:
    """Its frames can be scored all the same."""
    write_dataset(tmp_path / "ds", has_actions=False)
    episode = LeRobotLayout(episodes=1).episodes(tmp_path / "ds")[0]
    assert episode.signals.action_vectors is None
    assert episode.signals.actions is None
    assert episode.signals.state_vectors.shape == (4, 3)


def test_episodes_that_do_not_exist(tmp_path: Path) -> None:
    """A slip in a selection must not shrink a suite."""
    write_dataset(tmp_path / "ds")
    with pytest.raises(ConfigurationError, match=r"episodes: 3, 9 not in .*ds, which has 3"):
        LeRobotLayout(episodes="1,3,9").episodes(tmp_path / "ds")


def test_episodes_chosen_twice_or_not_at_all(tmp_path: Path) -> None:
    """From Python as on the command line; the import once stumbled over its own files."""
    write_dataset(tmp_path / "ds")
    dataset = LeRobotDataset(tmp_path / "ds")
    assert dataset.chosen([2, 0, 2]) == (2, 0)
    with pytest.raises(ConfigurationError, match="the list is empty"):
        dataset.chosen([])


def test_a_video_that_claims_to_last_for_ever(tmp_path: Path) -> None:
    """The rows say how long the episode is; the claim must not overflow."""
    write_dataset(tmp_path / "ds")
    change_column(tmp_path / "ds" / EPISODES, f"{VIDEO}/to_timestamp", [1.0, 1.8, 1e300])
    assert LeRobotDataset(tmp_path / "ds").episode(2).timeline.num_frames == 6


def test_predictions_of_episodes_that_are_not_chosen_are_left_alone(tmp_path: Path) -> None:
    """A few episodes of a large dataset, with a folder of predictions of all; others are errors."""
    write_dataset(tmp_path / "ds", num_frames=(4, 5, 6))
    predictions = tmp_path / "p"
    predictions.mkdir()
    for index in range(3):
        (predictions / f"episode_{index:06d}.npy").write_bytes(b"x")
    layout = LeRobotLayout(episodes="0,2")
    pairs = layout.pairs(tmp_path / "ds", predictions)
    assert [pair.episode_id for pair in pairs] == ["episode_000000", "episode_000002"]
    (predictions / "episode_000003.npy").write_bytes(b"x")
    with pytest.raises(PairingError, match=r"Prediction-only episodes: 1\n  episode_000003"):
        layout.pairs(tmp_path / "ds", predictions)


def test_vectors_of_one_number_and_lists_without_a_fixed_size(tmp_path: Path) -> None:
    """LeRobot keeps vectors of one number as plain numbers; other writers use plain lists."""
    root = tmp_path / "ds"
    written = write_dataset(root)
    actions = np.concatenate(written.actions)
    change_column(root / DATA, "action", actions[:, 0])
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["action"]["shape"] = [1]
    change_info(root, features=info["features"])
    episode = LeRobotDataset(root).episode(0)
    np.testing.assert_array_equal(episode.rows.actions, written.actions[0][:, :1])
    change_column(root / DATA, "action", actions.astype(np.float64).tolist())
    info["features"]["action"]["shape"] = [2]
    change_info(root, features=info["features"])
    rows = LeRobotDataset(root).episode(2).rows
    np.testing.assert_array_equal(rows.actions, written.actions[2])
    assert rows.actions.dtype == np.float64


FAULTS = {
    "no info": (lambda r: (r / "meta/info.json").unlink(), r"no LeRobot dataset, meta/info\.json"),
    "not json": (
        lambda r: (r / "meta/info.json").write_text("{"),
        r"info\.json: not valid JSON",
    ),
    "old format": (
        lambda r: change_info(r, codebase_version="v1.6"),
        r"info\.json: \$\.codebase_version: expected one of v2\.0, v2\.1, v3\.0, got 'v1\.6'",
    ),
    "no fps": (lambda r: change_info(r, fps=...), r"info\.json: the key 'fps' is missing"),
    "fps of nothing": (lambda r: change_info(r, fps=0), r"info\.json: \$\.fps: expected .* got 0"),
    "fps as text": (lambda r: change_info(r, fps="5"), r"info\.json: \$\.fps: .* got a string"),
    "features": (lambda r: change_info(r, features=[]), r"\$\.features: expected an object"),
    "feature's shape": (
        lambda r: change_info(r, features={FRONT: {"dtype": "video", "shape": [0]}}),
        r"\$\.features\.observation\.images\.front\.shape\[0\]: expected an integer above 0",
    ),
    "action's shape": (
        lambda r: change_info(r, features=features_with(r, "action", shape=[2, 2])),
        r"\$\.features\.action\.shape: expected the size of a vector",
    ),
    "action's dtype": (
        lambda r: change_info(r, features=features_with(r, "action", dtype="string")),
        r"\$\.features\.action\.dtype: expected numbers, got 'string'",
    ),
    "way out": (
        lambda r: change_info(r, data_path="../{chunk_index}.parquet"),
        r"\$\.data_path: expected a path within the dataset",
    ),
    "field of a template": (
        lambda r: change_info(r, video_path="{video_key.__class__}.mp4"),
        r"\$\.video_path: \{video_key\.__class__\} is unknown",
    ),
    "template": (lambda r: change_info(r, data_path="{chunk_index"), r"\$\.data_path: no template"),
    "gigabytes of blanks": (
        lambda r: change_info(r, data_path="{file_index:>999999999}.parquet"),
        r"\$\.data_path: expected a format such as 03d .* got '>999999999'",
    ),
    "template with a zero byte": (
        lambda r: change_info(r, data_path="a\0{file_index}"),
        r"\$\.data_path: expected a path",
    ),
    "name that no file can have": (
        lambda r: change_info(r, data_path="a" * 5000),
        r"aaa: cannot be read as Parquet \(.*too long",
    ),
    "no video path": (lambda r: change_info(r, video_path=None), r"\$\.video_path: it is null"),
    "fewer episodes": (
        lambda r: change_info(r, total_episodes=4),
        r"\$\.total_episodes: it says 4, but .* make 3",
    ),
    "fewer frames": (
        lambda r: change_info(r, total_frames=14),
        r"\$\.total_frames: it says 14, but .* make 15",
    ),
    "no episodes": (lambda r: (r / EPISODES).unlink(), r"meta/episodes: no chunk-\*"),
    "episodes' column": (
        lambda r: change_column(r / EPISODES, "length", None),
        r"file-000\.parquet: column 'length': the column is missing",
    ),
    "camera's column": (
        lambda r: change_column(r / EPISODES, f"{VIDEO}/from_timestamp", None),
        rf"column '{VIDEO}/from_timestamp': the column is missing",
    ),
    "length of another type": (
        lambda r: change_column(r / EPISODES, "length", [5.0, 4.0, 6.0]),
        r"column 'length': expected integers, got double",
    ),
    "time that is none": (
        lambda r: change_column(r / EPISODES, f"{VIDEO}/to_timestamp", [1.0, float("nan"), 3.0]),
        r"to_timestamp', row 1: expected finite numbers, got nan",
    ),
    "times that run back": (
        lambda r: change_column(r / EPISODES, f"{VIDEO}/to_timestamp", [1.0, 0.5, 3.0]),
        r"row 1: .*from_timestamp and .*to_timestamp: expected 0 <= from < to, got 1 and 0\.5",
    ),
    "between two frames": (
        lambda r: change_column(r / EPISODES, f"{VIDEO}/from_timestamp", [0.0, 1.09, 1.8]),
        r"row 1: .*from_timestamp: 1\.09 s lies between two frames at 5 frames per second",
    ),
    "shorter video": (
        lambda r: change_column(r / EPISODES, f"{VIDEO}/to_timestamp", [0.4, 1.8, 3.0]),
        r"row 0: .*to_timestamp: the video has 2 frames, but the last row of episode 0 is at 0\.8",
    ),
    "twice": (
        lambda r: change_column(r / EPISODES, "episode_index", [0, 1, 1]),
        r"row 2: episode_index 1 stands there twice",
    ),
    "no rows": (
        lambda r: change_column(r / EPISODES, "length", [5, 0, 6]),
        r"row 1: length: expected at least 1, got 0",
    ),
    "negative": (
        lambda r: change_column(r / EPISODES, "data/file_index", [0, -1, 0]),
        r"row 1: an index is negative",
    ),
    "no data": (lambda r: (r / DATA).unlink(), r"file-000\.parquet: the file is missing"),
    "half the data": (
        lambda r: (r / DATA).write_bytes((r / DATA).read_bytes()[:900]),
        r"file-000\.parquet: cannot be read as Parquet",
    ),
    "no timestamp": (
        lambda r: change_column(r / DATA, "timestamp", None),
        r"file-000\.parquet: column 'timestamp': the column is missing",
    ),
    "no action": (
        lambda r: change_column(r / DATA, "action", None),
        r"column 'action': the column is missing",
    ),
    "nan in an action": (
        lambda r: change_column(r / DATA, "action", [[0.0, 1.0]] * 6 + [[0.0, float("nan")]] * 9),
        r"column 'action', row 6: expected finite numbers, got nan",
    ),
    "a short action": (
        lambda r: change_column(r / DATA, "action", [[0.0, 1.0]] * 6 + [[0.0]] * 9),
        r"column 'action', row 6: expected 2 numbers, .* got 1",
    ),
    "an action that is missing": (
        lambda r: change_column(r / DATA, "action", [[0.0, 1.0]] * 6 + [None] * 9),
        r"column 'action', row 6: there is no value",
    ),
    "half an action": (
        lambda r: change_column(r / DATA, "action", [[0.0, 1.0]] * 6 + [[0.0, None]] * 9),
        r"column 'action', row 6: a number is missing",
    ),
    "action as text": (
        lambda r: change_column(r / DATA, "action", [["a", "b"]] * 15),
        r"column 'action': expected numbers, got string",
    ),
    "frame_index": (
        lambda r: change_column(r / DATA, "frame_index", [0, 1, 2, 4, 4, *range(4), *range(6)]),
        r"column 'frame_index', row 3: expected 3, got 4",
    ),
    "index": (
        lambda r: change_column(r / DATA, "index", [*range(1, 16)]),
        r"column 'index', row 0: expected 0, got 1",
    ),
    "rows of another episode": (
        lambda r: change_column(r / DATA, "episode_index", [0] * 4 + [1] * 5 + [2] * 6),
        r"4 row\(s\) have episode_index 0, but .*row 0 says length 5",
    ),
    "rows apart": (
        lambda r: change_column(r / DATA, "episode_index", [0] * 4 + [1] + [0] + [1] * 3 + [2] * 6),
        r"column 'episode_index': the rows of episode 0 do not follow one another",
    ),
    "times without end": (
        lambda r: change_column(r / DATA, "timestamp", [1e30 * i for i in [*range(15)]]),
        r"column 'timestamp', row 4: 4e\+30 s at the 5 frames per second .* more than 2147483647",
    ),
    "times that fall": (
        lambda r: change_column(
            r / DATA,
            "timestamp",
            [0.0, 0.4, 0.2, 0.6, 0.8] + [0.2 * i for i in [*range(4), *range(6)]],
        ),
        r"column 'timestamp', row 2: 0\.2 s; expected times from 0 that do not fall",
    ),
}


def features_with(root: Path, key: str, **changes: object) -> dict:
    features = json.loads((root / "meta/info.json").read_text())["features"]
    features[key] |= changes
    return features


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_named_by_file_and_field(tmp_path: Path, fault: str) -> None:
    """A traceback of pyarrow's, or a dataset read half, helps nobody."""
    damage, message = FAULTS[fault]
    write_dataset(tmp_path / "ds")
    damage(tmp_path / "ds")
    with pytest.raises(WbgpuError, match=message):
        LeRobotLayout().episodes(tmp_path / "ds")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"episode_index": 0, "length": 5', r"episodes\.jsonl, line 2: not valid JSON"),
        ('{"length": 5}', r"episodes\.jsonl, line 2: the key 'episode_index' is missing"),
        (
            '{"episode_index": 1, "length": "5"}',
            r"episodes\.jsonl, line 2: \$\.length: expected an integer >= 0, got a string",
        ),
        (
            '{"episode_index": 1, "length": 4, "tasks": [7]}',
            r"episodes\.jsonl, line 2: \$\.tasks\[0\]: expected a string",
        ),
    ],
)
def test_faults_of_the_episode_list_of_v2(tmp_path: Path, line: str, message: str) -> None:
    """A list of thousands of lines needs the number of the one that is wrong."""
    write_dataset(tmp_path / "ds", "v2.1")
    file = tmp_path / "ds/meta/episodes.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], line, lines[2]]))
    with pytest.raises(InputError, match=message):
        LeRobotLayout().episodes(tmp_path / "ds")


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_a_video_that_is_missing_or_too_short_fails_where_it_is_opened(
    tmp_path: Path, version: str
) -> None:
    """One such file must not stop the other episodes, and is named."""
    written = write_dataset(tmp_path / "ds", version)
    episode = LeRobotLayout().episodes(tmp_path / "ds")[2]
    from wbgpu.video.encode import write_video

    write_video(episode.ground_truth.path, written.frames[2][:4], 5, lossless=True)
    with pytest.raises(VideoError, match=r"mp4: frames \d+ to \d+ are wanted, but it has 4"):
        open_clip(episode.ground_truth, PyavDecoder())
    episode.ground_truth.path.unlink()
    with pytest.raises(VideoError, match="does not exist"):
        open_clip(episode.ground_truth, PyavDecoder())


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_ntsc_video_in_a_dataset_of_30_frames_per_second(tmp_path: Path, version: str) -> None:
    """Short files are read by their frames; where times differ by half a frame, it is said."""
    written = write_dataset(
        tmp_path / "short", version, num_frames=(7,), fps=30, video_fps=30000 / 1001
    )
    (episode,) = LeRobotLayout().episodes(tmp_path / "short")
    with open_clip(episode.ground_truth, PyavDecoder()) as reader:
        assert torch.equal(reader.read(0, 7), written.frames[0])
    write_dataset(tmp_path / "long", "v2.1", num_frames=(600,), fps=30, video_fps=30000 / 1001)
    (episode,) = LeRobotLayout().episodes(tmp_path / "long")
    with pytest.raises(VideoError, match=r"29\.97 frames per second, but 30 are declared: by fra"):
        open_clip(episode.ground_truth, PyavDecoder())


def test_actions_in_float64_that_float32_cannot_hold(tmp_path: Path) -> None:
    """They would become infinite on the way to a model."""
    write_dataset(tmp_path / "ds")
    change_column(tmp_path / "ds" / DATA, "action", [[0.0, 1e300]] * 15)
    with pytest.raises(
        InputError, match=r"column 'action', row 0: 1e\+300 is too large for float32"
    ):
        LeRobotLayout().episodes(tmp_path / "ds")


def test_fixed_lists_are_what_lerobot_writes(shared: Path) -> None:
    """The project's fixture has to be like the real thing."""
    import pyarrow.parquet as pq

    real = pq.read_schema(shared / "data/lerobot/v3.0" / DATA)
    assert str(real.field("action").type).startswith("fixed_size_list<element: float>")
    assert str(fixed(np.zeros((1, 2), np.float32)).type) == "fixed_size_list<item: float>[2]"


def test_a_dataset_of_several_files(tmp_path: Path) -> None:
    """Large ones have many; each file begins at time 0, and rows are numbered through all."""
    import pyarrow.parquet as pq

    from wbgpu.video.encode import write_video

    root = tmp_path / "ds"
    written = write_dataset(root)
    rows = pq.read_table(root / DATA)
    save(rows.slice(0, 9), root / DATA)
    save(rows.slice(9), root / "data/chunk-001/file-000.parquet")
    folder = root / VIDEO
    write_video(folder / "chunk-000/file-000.mp4", torch.cat(written.frames[:2]), 5, lossless=True)
    write_video(folder / "chunk-000/file-001.mp4", written.frames[2], 5, lossless=True)
    index = pq.read_table(root / EPISODES)
    for part, place in (
        (index.slice(0, 2), EPISODES),
        (index.slice(2), EPISODES.replace("0.p", "1.p")),
    ):
        save(part, root / place)
    last = root / EPISODES.replace("0.p", "1.p")
    change_column(last, "data/chunk_index", [1])
    change_column(last, f"{VIDEO}/file_index", [1])
    change_column(last, f"{VIDEO}/from_timestamp", [0.0])
    change_column(last, f"{VIDEO}/to_timestamp", [1.2])
    dataset = LeRobotDataset(root)
    for number in (2, 0, 1):
        episode = dataset.episode(number)
        np.testing.assert_array_equal(episode.rows.actions, written.actions[number])
        with open_clip(episode.clip, PyavDecoder()) as reader:
            assert torch.equal(reader.read(0, reader.info.num_frames), written.frames[number])


def test_without_pyarrow_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an extra."""
    import sys

    write_dataset(tmp_path / "ds")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'wbgpu\[lerobot\]'"):
        LeRobotDataset(tmp_path / "ds")


def test_the_fixtures_script(tmp_path: Path) -> None:
    """Somebody who wants to look at a small dataset of each format."""
    import runpy
    import sys

    from tests.episodes.lerobot import datasets

    arguments, sys.argv = sys.argv, ["datasets", str(tmp_path)]
    try:
        runpy.run_path(datasets.__file__, run_name="__main__")
    finally:
        sys.argv = arguments
    assert [len(LeRobotDataset(tmp_path / v).entries) for v in ("v2.1", "v3.0")] == [3, 3]
