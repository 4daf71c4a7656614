"""worldbench's own importer on the same dataset, with a stand-in for the library that it needs.

Its control timeline is equal. Its video timeline has faults that ours has not: a frame of the next
episode at the end of each, and actions one step old wherever float32 rounds a time up.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from tests.episodes.lerobot.datasets import FRONT, Written, write_dataset
from wbgpu import sdk

OURS_ALONE = {"action_names", "codebase_version", "source_sha256"}
IN_OTHER_WORDS = {"description", "robot", "repo_id"}


class _Rows(list):
    """With ``features`` beside its rows, as a Hugging Face dataset has."""


def dataset_class(written: Written) -> type:
    """LeRobotDataset as worldbench calls it: rows from Parquet, the frame nearest to a time."""

    class LeRobotDataset:
        def __init__(self, repo_id: str, episodes: list[int] | None = None) -> None:
            info = json.loads((written.root / "meta/info.json").read_text())
            table = pq.read_table(written.root / "data/chunk-000/file-000.parquet")
            rows = [
                {k: np.float32(v) if isinstance(v, list) else v for k, v in row.items()}
                for row in table.to_pylist()
                if episodes is None or row["episode_index"] in episodes
            ]
            self.features, self.hf_dataset, self.fps = info["features"], _Rows(rows), info["fps"]
            self.hf_dataset.features = self.features
            index = pq.read_table(written.root / "meta/episodes/chunk-000/file-000.parquet")
            self.meta = SimpleNamespace(
                video_keys=[FRONT],
                total_episodes=len(written.frames),
                episodes=index.to_pylist(),
                tasks=SimpleNamespace(iloc={0: SimpleNamespace(name="push")}),
            )

        def __len__(self) -> int:
            return len(self.hf_dataset)

        def _query_videos(self, query: dict, episode: int) -> dict:
            frames = torch.cat(written.frames).numpy()
            start = self.meta.episodes[episode][f"videos/{FRONT}/from_timestamp"]
            return {
                key: frames[min(round((start + times[0]) * self.fps), len(frames) - 1)]
                for key, times in query.items()
            }

    return LeRobotDataset


@pytest.fixture(params=[1, 3])
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """Folders of both importers for a timeline, and the dataset."""
    from worldbench.backends.lerobot import import_lerobot_repo

    written = write_dataset(tmp_path / "ds", num_frames=(9, 12, 7), rows_per_frame=request.param)
    module = ModuleType("lerobot.datasets")
    module.LeRobotDataset = dataset_class(written)
    monkeypatch.setitem(sys.modules, "lerobot", ModuleType("lerobot"))
    monkeypatch.setitem(sys.modules, "lerobot.datasets", module)

    def run(timeline: str) -> tuple[Path, Path, Written]:
        ours, theirs = tmp_path / f"ours_{timeline}", tmp_path / f"theirs_{timeline}"
        sdk.import_lerobot(written.root, ours, timeline=timeline)
        import_lerobot_repo("someone/ds", theirs, timeline=timeline)
        return ours, theirs, written

    return run


def episode(folder: Path, index: int) -> dict:
    root = folder / f"episode_{index:06d}"
    frames = [np.asarray(Image.open(file)) for file in sorted((root / "frames").iterdir())]
    names = ("actions", "states", "metadata")
    return {n: json.loads((root / f"{n}.json").read_text()) for n in names} | {"frames": frames}


def test_the_control_timeline_is_worldbenchs(imported) -> None:
    """Every frame, number and key."""
    ours, theirs, written = imported("control")
    for index in range(len(written.frames)):
        a, b = episode(ours, index), episode(theirs, index)
        np.testing.assert_array_equal(a["frames"][:-1], b["frames"][:-1])
        # Theirs may show a frame of the next episode for the last rows.
        assert a["actions"][:-1] == b["actions"][:-1]
        assert a["states"][:-1] == b["states"][:-1]
        assert set(a["metadata"]) == set(b["metadata"]) | OURS_ALONE
        counted = {"source_unique_video_frames", "source_referenced_video_frames"}
        for key in set(b["metadata"]) - IN_OTHER_WORDS - counted:
            assert a["metadata"][key] == b["metadata"][key], key


def test_the_video_timeline_without_worldbenchs_faults(imported) -> None:
    """What docs/coming-from-worldbench.md says of the two importers."""
    ours, theirs, written = imported("video")
    num_late = 0
    for index, frames in enumerate(written.frames):
        a, b = episode(ours, index), episode(theirs, index)
        assert (len(a["frames"]), len(b["frames"])) == (len(frames), len(frames) + 1)
        np.testing.assert_array_equal(a["frames"], b["frames"][:-1])
        assert a["states"] == b["states"][:-1]
        for mine, other in zip(a["actions"], b["actions"], strict=False):
            late = mine["source_control_index"] - other["source_control_index"]
            assert late in (0, 1)
            num_late += late
            if not late:
                assert mine == other
        for before, after in pairwise(a["actions"]):
            step = after["source_control_index"] - before["source_control_index"]
            assert step == len(written.actions[index]) // len(frames)
    assert num_late > 0
