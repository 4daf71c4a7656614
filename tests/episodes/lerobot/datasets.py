"""Small LeRobot datasets, written column by column as the formats say, with lossless frames.

``python -m tests.episodes.lerobot.datasets FOLDER`` writes one of each format.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from wbgpu.video.encode import write_video

FRONT = "observation.images.front"
SIZE = (24, 32)


@dataclass(frozen=True)
class Written:
    """A dataset and what it holds, by episode.

    Attributes:
        root: its folder.
        frames: uint8 ``[F, 3, H, W]``.
        actions, states: float32 ``[N, 2]`` and ``[N, 3]``.
        timestamps: float32 ``[N]``.
    """

    root: Path
    frames: list[torch.Tensor]
    actions: list[np.ndarray]
    states: list[np.ndarray]
    timestamps: list[np.ndarray]


def write_dataset(
    root: Path,
    version: str = "v3.0",
    *,
    num_frames: tuple[int, ...] = (5, 4, 6),
    fps: int = 5,
    video_fps: float | None = None,
    rows_per_frame: int = 1,
    cameras: tuple[str, ...] = (FRONT,),
    has_actions: bool = True,
    seed: int = 0,
) -> Written:
    """Write a dataset; all cameras show the same."""
    rng = np.random.default_rng(seed)
    frames = [
        torch.from_numpy(rng.integers(0, 256, (n, 3, *SIZE), dtype=np.uint8)) for n in num_frames
    ]
    num_rows = [n * rows_per_frame for n in num_frames]
    actions = [rng.normal(size=(n, 2)).astype(np.float32) for n in num_rows]
    states = [rng.normal(size=(n, 3)).astype(np.float32) for n in num_rows]
    times = [(np.arange(n) / (fps * rows_per_frame)).astype(np.float32) for n in num_rows]
    written = Written(root, frames, actions, states, times)
    firsts = np.cumsum([0, *num_rows]).tolist()
    tables = [
        pa.table(
            {
                "observation.state": fixed(states[e]),
                **({"action": fixed(actions[e])} if has_actions else {}),
                "timestamp": pa.array(times[e]),
                "frame_index": pa.array(np.arange(n)),
                "episode_index": pa.array(np.full(n, e)),
                "index": pa.array(firsts[e] + np.arange(n)),
                "task_index": pa.array(np.zeros(n, np.int64)),
            }
        )
        for e, n in enumerate(num_rows)
    ]
    write_info(written, version, fps, cameras, has_actions)
    write = _write_v3 if version == "v3.0" else _write_v2
    write(written, tables, fps, video_fps or fps, cameras)
    return written


def fixed(vectors: np.ndarray) -> pa.Array:
    """As LeRobot stores vectors."""
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])


def write_info(
    written: Written, version: str, fps: int, cameras: tuple[str, ...], has_actions: bool
) -> None:
    is_v3 = version == "v3.0"
    features: dict[str, Any] = {
        camera: {
            "dtype": "video",
            "shape": [*SIZE, 3],
            "names": ["height", "width", "channels"],
        }
        for camera in cameras
    }
    if has_actions:
        features["action"] = {"dtype": "float32", "shape": [2], "names": {"motors": ["x", "y"]}}
    features["observation.state"] = {"dtype": "float32", "shape": [3], "names": ["state"]}
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
        dtype = "float32" if name == "timestamp" else "int64"
        features[name] = {"dtype": dtype, "shape": [1], "names": None}
    info = {
        "codebase_version": version,
        "robot_type": "so100",
        "total_episodes": len(written.frames),
        "total_frames": sum(map(len, written.timestamps)),
        "chunks_size": 2,
        "fps": fps,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
        if is_v3
        else "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
        if is_v3
        else "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        "features": features,
    }
    (written.root / "meta").mkdir(parents=True)
    (written.root / "meta/info.json").write_text(json.dumps(info))


def _write_v2(written: Written, tables: list[pa.Table], fps, video_fps, cameras) -> None:
    lines = []
    for e, table in enumerate(tables):
        chunk, name = f"chunk-{e // 2:03d}", f"episode_{e:06d}"
        save(table, written.root / f"data/{chunk}/{name}.parquet")
        for camera in cameras:
            video = written.root / f"videos/{chunk}/{camera}/{name}.mp4"
            write_video(video, written.frames[e], video_fps, lossless=True)
        lines.append({"episode_index": e, "tasks": ["push"], "length": table.num_rows})
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (written.root / "meta/episodes.jsonl").write_text(text)


def _write_v3(written: Written, tables: list[pa.Table], fps, video_fps, cameras) -> None:
    save(pa.concat_tables(tables), written.root / "data/chunk-000/file-000.parquet")
    rows = np.cumsum([0, *(table.num_rows for table in tables)])
    ends = np.cumsum([0, *map(len, written.frames)]) / video_fps
    columns: dict[str, Any] = {
        "episode_index": np.arange(len(tables)),
        "tasks": [["push"]] * len(tables),
        "length": np.diff(rows),
        "data/chunk_index": np.zeros(len(tables), np.int64),
        "data/file_index": np.zeros(len(tables), np.int64),
        "dataset_from_index": rows[:-1],
        "dataset_to_index": rows[1:],
    }
    for camera in cameras:
        video = written.root / f"videos/{camera}/chunk-000/file-000.mp4"
        write_video(video, torch.cat(written.frames), video_fps, lossless=True)
        columns |= {
            f"videos/{camera}/chunk_index": np.zeros(len(tables), np.int64),
            f"videos/{camera}/file_index": np.zeros(len(tables), np.int64),
            f"videos/{camera}/from_timestamp": ends[:-1],
            f"videos/{camera}/to_timestamp": ends[1:],
        }
    save(pa.table(columns), written.root / "meta/episodes/chunk-000/file-000.parquet")


def save(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def change_info(root: Path, **changes: Any) -> None:
    """Set keys of ``meta/info.json``; ``None`` as a value is null, ``...`` removes the key."""
    path = root / "meta/info.json"
    info = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in info.items() if value is not ...}))


def change_column(path: Path, name: str, values: Any) -> None:
    """Replace a column of a Parquet file, or drop it where ``values`` is ``None``."""
    table = pq.read_table(path)
    place = table.schema.get_field_index(name)
    save(
        table.drop_columns([name])
        if values is None
        else table.set_column(place, name, pa.array(values)),
        path,
    )


if __name__ == "__main__":
    for each in ("v2.1", "v3.0"):
        write_dataset(Path(sys.argv[1]) / each, each)
