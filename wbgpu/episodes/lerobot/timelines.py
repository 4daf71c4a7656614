"""Lay the rows of an episode against the frames of its video. Pure functions.

Rows are usually one for each frame; then both timelines say the same. Some robots write more rows
than frames: ``control`` has a step for each row, with frames repeated, and ``video`` one for each
frame, with the latest action at or before it and the state nearest to it, as worldbench does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

TimelineName = Literal["video", "control"]
TIMELINES: tuple[TimelineName, ...] = ("video", "control")

TOLERANCE_SECONDS = 1e-4
"""LeRobot's own, for times that are kept as float32."""

_HALF_EPSILON = 1e-9

Times = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EpisodeTimeline:
    """T steps of an episode.

    Attributes:
        name: of the timeline.
        num_frames: F, frames of the video that belong to the episode.
        frames: int64 ``[T]``, of the episode's video, from 0; they do not fall.
        timestamps: float64 ``[T]``, seconds from the episode's begin.
        action_rows: int64 ``[T]``, rows whose actions were done at these times.
        state_rows: int64 ``[T]``, likewise of the states.
        referenced_frames: int64 ``[N]``, the frame nearest to each row.
    """

    name: TimelineName
    num_frames: int
    frames: Indices
    timestamps: Times
    action_rows: Indices
    state_rows: Indices
    referenced_frames: Indices

    @property
    def alignment_strategy(self) -> dict[str, str]:
        """As worldbench's metadata name it."""
        if self.name == "control":
            return {"action": "source_control_row", "state": "source_control_row"}
        return {"action": "latest_at_or_before_timestamp", "state": "nearest_timestamp"}


def nearest_frames(timestamps: Times, fps: float) -> Indices:
    """The frame nearest to each time; of two that are equally near the earlier one."""
    return np.maximum(0, np.floor(timestamps * fps + 0.5 - _HALF_EPSILON)).astype(np.int64)


def timeline(
    name: TimelineName, timestamps: Times, fps: float, num_frames: int | None
) -> EpisodeTimeline:
    """Lay rows against frames.

    Args:
        name: ``video`` or ``control``.
        timestamps: float64 ``[N]``, seconds, not falling, N at least 1.
        fps: of the video.
        num_frames: frames that are there, or ``None``: as many as rows refer to. Frames after the
            last one that a row refers to are left out, and a row after the last frame refers to it.
    """
    referenced = nearest_frames(timestamps, fps)
    if num_frames is not None:
        referenced = np.minimum(referenced, num_frames - 1)
    count = int(referenced[-1]) + 1
    rows = np.arange(len(timestamps))
    if name == "control":
        return EpisodeTimeline(name, count, referenced, timestamps, rows, rows, referenced)
    frames = np.arange(count)
    times = frames / fps
    return EpisodeTimeline(
        name=name,
        num_frames=count,
        frames=frames,
        timestamps=times,
        action_rows=latest_rows(timestamps, times),
        state_rows=nearest_rows(timestamps, times),
        referenced_frames=referenced,
    )


def latest_rows(timestamps: Times, times: Times) -> Indices:
    """The last row at or before each time; the first row where there is none."""
    # Half a row's distance at most: rows may come more often than the tolerance.
    gap = float(np.median(np.diff(timestamps))) if len(timestamps) > 1 else np.inf
    tolerance = min(TOLERANCE_SECONDS, gap / 2)
    return np.maximum(0, np.searchsorted(timestamps, times + tolerance, side="right") - 1)


def nearest_rows(timestamps: Times, times: Times) -> Indices:
    """The row nearest to each time; of two that are equally near the earlier one."""
    after = np.clip(np.searchsorted(timestamps, times), 0, len(timestamps) - 1)
    before = np.maximum(0, after - 1)
    is_before = np.abs(timestamps[before] - times) <= np.abs(timestamps[after] - times)
    # The first of rows with the same time.
    return np.searchsorted(timestamps, timestamps[np.where(is_before, before, after)])
