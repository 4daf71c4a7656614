"""A LeRobot dataset as a suite, evaluated where it lies."""

from __future__ import annotations

from pathlib import Path

from wbgpu.episodes.lerobot.dataset import LeRobotDataset, episode_id
from wbgpu.episodes.lerobot.records import signals
from wbgpu.episodes.lerobot.selection import parse_selection
from wbgpu.episodes.pairing import Episode, EpisodePair, pair_with_predictions
from wbgpu.errors import ConfigurationError


class LeRobotLayout:
    """A `wbgpu.episodes.layout.Layout`: episodes are named ``episode_000000`` and so on.

    There is one step for each frame of the video, see `wbgpu.episodes.lerobot.timelines`.

    Args:
        camera: key of the video, such as ``observation.images.front``; ``None`` takes the only one.
        episodes: such as ``0:3,7,2``, or one number; ``None`` for all.

    Raises:
        ConfigurationError: the selection is malformed.
    """

    def __init__(self, camera: str | None = None, episodes: str | int | None = None) -> None:
        self._camera = camera
        self._episodes = None if episodes is None else parse_selection(str(episodes))

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        """The chosen episodes, with actions and states."""
        return self._of(LeRobotDataset(ground_truth, self._camera))

    def _of(self, dataset: LeRobotDataset) -> tuple[Episode, ...]:
        found = (dataset.episode(index) for index in sorted(dataset.chosen(self._episodes)))
        return tuple(
            Episode(episode.episode_id, episode.clip, signals(dataset, episode))
            for episode in found
        )

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        """The chosen episodes with predictions such as ``episode_000000.mp4``."""
        if predictions is None:
            raise ConfigurationError(
                "suite.predictions: a LeRobot dataset holds none; give a folder of saved "
                "predictions, or a model that predicts (model=...)"
            )
        dataset = LeRobotDataset(ground_truth, self._camera)
        chosen = set(dataset.chosen(self._episodes))
        unchosen = [episode_id(index) for index in dataset.entries if index not in chosen]
        return pair_with_predictions(self._of(dataset), ground_truth, predictions, unchosen)
