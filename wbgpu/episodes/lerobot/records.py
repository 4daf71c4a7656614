"""What worldbench's importer writes of an episode: actions, states and metadata.

Keys and texts are worldbench's. ``action_names``, ``state_names``, ``codebase_version`` and
``tasks`` are added where the dataset has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from wbgpu.episodes.lerobot.dataset import LeRobotDataset, LeRobotEpisode
from wbgpu.records.signals import EpisodeSignals


def action_records(episode: LeRobotEpisode) -> list[dict[str, Any]]:
    """One entry a step; none where the dataset has no actions."""
    actions = episode.rows.actions
    if actions is None:
        return []
    rows = episode.timeline.action_rows
    return _records(episode, rows, "action", actions[rows])


def state_records(episode: LeRobotEpisode) -> list[dict[str, Any]]:
    """One entry a step, with ``observation_state`` where the dataset has states."""
    rows, states = episode.timeline.state_rows, episode.rows.states
    return _records(episode, rows, "observation_state", None if states is None else states[rows])


def metadata_record(dataset: LeRobotDataset, episode: LeRobotEpisode) -> dict[str, Any]:
    """Where an episode comes from and how rows were laid against frames."""
    info, entry, timeline = dataset.info, episode.entry, episode.timeline
    record = {
        "name": f"lerobot_{episode.episode_id}",
        "robot": info.robot_type or "unknown",
        "task": entry.tasks[0] if entry.tasks else "unknown",
        "fps": info.fps,
        "description": "An episode of a LeRobot dataset.",
        "source": "lerobot",
        "repo_id": dataset.root.resolve().name,
        "episode_index": entry.index,
        "camera_key": dataset.camera,
        "timeline": timeline.name,
        "video_fps": info.fps,
        "alignment_strategy": timeline.alignment_strategy,
        "source_control_steps": len(timeline.referenced_frames),
        "source_unique_video_frames": timeline.num_frames,
        "source_referenced_video_frames": len(np.unique(timeline.referenced_frames)),
        "exported_timesteps": len(timeline.frames),
        "codebase_version": info.version,
    }
    for key, names in (("action", dataset.action_names), ("state", dataset.state_names)):
        if names is not None:
            record[f"{key}_names"] = list(names)
    if len(entry.tasks) > 1:
        record["tasks"] = list(entry.tasks)
    return record


def signals(dataset: LeRobotDataset, episode: LeRobotEpisode) -> EpisodeSignals:
    """The same for an evaluation in place, with the numbers as arrays as well."""
    timeline, rows = episode.timeline, episode.rows
    return EpisodeSignals(
        action_vectors=_vectors(rows.actions, timeline.action_rows),
        action_names=dataset.action_names,
        state_vectors=_vectors(rows.states, timeline.state_rows),
        state_names=dataset.state_names,
        actions=None if rows.actions is None else tuple(action_records(episode)),
        states=tuple(state_records(episode)),
        metadata=metadata_record(dataset, episode),
        # One file holds both.
        files={"states" if rows.actions is None else "actions": episode.data_file},
    )


def _records(
    episode: LeRobotEpisode,
    rows: npt.NDArray[np.int64],
    key: str,
    vectors: npt.NDArray[Any] | None,
) -> list[dict[str, Any]]:
    timeline, fps = episode.timeline, episode.clip.fps
    assert fps is not None
    columns = zip(
        timeline.timestamps.tolist(),
        episode.rows.numbers[rows].tolist(),
        episode.rows.timestamps[rows].tolist(),
        timeline.frames.tolist(),
        (timeline.frames / fps).tolist(),
        strict=True,
    )
    values = None if vectors is None else vectors.tolist()
    return [
        {
            "t": step,
            "timestamp": timestamp,
            **({} if values is None else {key: values[step]}),
            "source_control_index": number,
            "source_control_timestamp": row_seconds,
            "source_video_frame_index": frame,
            "source_video_timestamp": frame_seconds,
        }
        for step, (timestamp, number, row_seconds, frame, frame_seconds) in enumerate(columns)
    ]


def _vectors(
    vectors: npt.NDArray[Any] | None, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32] | None:
    return None if vectors is None else vectors[rows].astype(np.float32)
