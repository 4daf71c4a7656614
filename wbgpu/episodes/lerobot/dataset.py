"""Episodes of a LeRobot dataset: one camera's frames, and the rows that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wbgpu.episodes.lerobot.index import EpisodeEntry, read_index
from wbgpu.episodes.lerobot.info import DatasetInfo, read_info
from wbgpu.episodes.lerobot.rows import MAX_FRAMES, EpisodeRows, RowReader
from wbgpu.episodes.lerobot.timelines import EpisodeTimeline, TimelineName, timeline
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.records.clip import Clip

_MAX_FRAMES_OFF = 0.25
"""By which an episode's first frame may lie off the declared rate's."""


def episode_id(index: int) -> str:
    """Such as ``episode_000003``, as worldbench's importer names its folder."""
    return f"episode_{index:06d}"


@dataclass(frozen=True, eq=False)
class LeRobotEpisode:
    """One episode.

    Attributes:
        entry: where it lies.
        rows: what the robot did.
        timeline: how rows and frames belong together.
        clip: its frames.
        data_file: the file of its rows.
    """

    entry: EpisodeEntry
    rows: EpisodeRows
    timeline: EpisodeTimeline
    clip: Clip
    data_file: Path

    @property
    def episode_id(self) -> str:
        """See `episode_id`."""
        return episode_id(self.entry.index)


class LeRobotDataset:
    """A dataset in a local folder. No video is opened.

    Attributes:
        root: the folder.
        info: its ``meta/info.json``.
        camera: key of the video.
        entries: all episodes by number.

    Args:
        root: holds ``meta/`` and ``data/``.
        camera: a video's key; ``None`` takes the only one.

    Raises:
        ConfigurationError: there is no such camera, or there are several and none was named.
        InputError: the dataset is missing or malformed; the message names file and field.
    """

    def __init__(self, root: Path, camera: str | None = None) -> None:
        self.root = root
        self.info: DatasetInfo = read_info(root)
        self.camera = _choose_camera(self.info, camera)
        self.entries = read_index(root, self.info, self.camera)
        self._rows = RowReader(root, self.info)

    def chosen(self, episodes: Sequence[int] | None) -> tuple[int, ...]:
        """Numbers of episodes, each once, or all of them.

        Raises:
            ConfigurationError: one does not exist, or none was chosen.
        """
        if episodes is None:
            return tuple(self.entries)
        if not episodes:
            raise ConfigurationError("episodes: the list is empty; leave it out for all episodes")
        if missing := [index for index in episodes if index not in self.entries]:
            raise ConfigurationError(
                f"episodes: {', '.join(map(str, missing[:20]))} not in {self.root}, which has "
                f"{len(self.entries)}, from {min(self.entries)} to {max(self.entries)}"
            )
        return tuple(dict.fromkeys(episodes))

    def episode(self, index: int, name: TimelineName = "video") -> LeRobotEpisode:
        """One episode, whose rows are read.

        Raises:
            InputError: its rows are malformed, or reach beyond its video.
        """
        entry, fps = self.entries[index], self.info.fps
        rows = self._rows.read(entry)
        start, available = 0, None
        if entry.video_seconds is not None:
            start, available = self._frames_in_file(entry)
        found = timeline(name, rows.timestamps, fps, available)
        if available is not None and rows.timestamps[-1] * fps > available + 0.5:
            raise InputError(
                f"{entry.place}: videos/{self.camera}/to_timestamp: the video has {available} "
                f"frames, but the last row of episode {index} is at {rows.timestamps[-1]:g} s"
            )
        return LeRobotEpisode(
            entry=entry,
            rows=rows,
            timeline=found,
            clip=Clip(
                self.root / entry.video_file,
                frames=(start, start + found.num_frames),
                fps=fps,
            ),
            data_file=self.root / entry.data_file,
        )

    @property
    def action_key(self) -> str | None:
        """Of the feature that holds actions; ``None`` where there is none."""
        return self._rows.action_key

    @property
    def action_names(self) -> tuple[str, ...] | None:
        """Of the elements of an action, where they are declared."""
        return self._names(self._rows.action_key)

    @property
    def state_names(self) -> tuple[str, ...] | None:
        """Of the elements of a state, where they are declared."""
        return self._names(self._rows.state_key)

    def _names(self, key: str | None) -> tuple[str, ...] | None:
        return None if key is None else self.info.features[key].names

    def _frames_in_file(self, entry: EpisodeEntry) -> tuple[int, int]:
        """The first frame and how many there are, from the times at which they lie."""
        assert entry.video_seconds is not None
        fps, (first, last) = self.info.fps, entry.video_seconds
        start = round(first * fps)
        if abs(first * fps - start) > _MAX_FRAMES_OFF:
            raise InputError(
                f"{entry.place}: videos/{self.camera}/from_timestamp: {first:g} s lies between two "
                f"frames at {fps:g} frames per second; is the fps of {self.info.file} the video's?"
            )
        return start, min(MAX_FRAMES, max(1, round((last - first) * fps)))


def _choose_camera(info: DatasetInfo, camera: str | None) -> str:
    listed = ", ".join(info.cameras)
    if camera is not None and camera not in info.cameras:
        kind = f" but {info.features[camera].dtype}" if camera in info.features else ""
        raise ConfigurationError(
            f"camera: {camera!r} is no video of the dataset{kind}; videos: {listed or 'none'}"
        )
    if not info.cameras:
        images = [key for key, feature in info.features.items() if feature.dtype == "image"]
        kept = f"; {', '.join(images)} is kept as images, which are not read" if images else ""
        raise InputError(f"{info.file}: $.features: none has the dtype 'video'{kept}")
    if camera is None and len(info.cameras) > 1:
        raise ConfigurationError(f"camera: the dataset has several, name one of {listed}")
    return camera or info.cameras[0]
