"""Suites of videos: a folder of ground truth and one of predictions, or two files.

Predictions may also be animations, arrays or folders of images: `wbgpu.episodes.predictions`.
"""

from __future__ import annotations

from pathlib import Path

from wbgpu.episodes.lerobot.info import is_lerobot_dataset
from wbgpu.episodes.pairing import Episode, EpisodePair, by_key, pair_with_predictions
from wbgpu.episodes.predictions import prediction_clip
from wbgpu.episodes.videos import VIDEO_EXTENSIONS, find_file, find_videos
from wbgpu.errors import ConfigurationError, InputError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import has_images


class VideoFolders:
    """A `wbgpu.episodes.layout.Layout`: videos paired by relative path without extension."""

    def episodes(self, ground_truth: Path) -> tuple[Episode, ...]:
        """The videos below a folder, or the one file."""
        if ground_truth.is_file():
            return (Episode(ground_truth.name, Clip(find_file(ground_truth, "ground-truth"))),)
        return tuple(
            Episode(episode_id, Clip(path))
            for episode_id, path in ground_truth_videos(ground_truth).items()
        )

    def pairs(self, ground_truth: Path, predictions: Path | None) -> tuple[EpisodePair, ...]:
        """Two folders, or two files."""
        if predictions is None:
            raise ConfigurationError(
                "suite.predictions: give a folder of saved predictions, or a model that predicts "
                "(model=...), and not both"
            )
        if ground_truth.is_file() and predictions.is_dir() and not has_images(predictions):
            raise InputError(
                f"ground truth {ground_truth} is a file and predictions {predictions} "
                "is a folder; give two folders or two files"
            )
        if ground_truth.is_file():
            return (pair_files(ground_truth, predictions),)
        return pair_with_predictions(self.episodes(ground_truth), ground_truth, predictions)


def ground_truth_videos(root: Path) -> dict[str, Path]:
    """Videos of a suite by episode id, sorted.

    Raises:
        InputError: as `find_videos`, or it is a LeRobot dataset.
        PairingError: no video at all, or two that differ only in their extension.
    """
    if is_lerobot_dataset(root):
        # Its files would pass for episodes, and in v3.0 each holds many.
        raise InputError(
            f"{root}: a LeRobot dataset, whose files are not its episodes; evaluate it with "
            "wbgpu eval suite=lerobot"
        )
    videos = find_videos(root, "ground-truth")
    if not videos:
        raise PairingError(
            f"no videos under {root}; looked for files ending in {', '.join(VIDEO_EXTENSIONS)}"
        )
    by_key(videos, root)
    return videos


def pair_files(ground_truth: Path, prediction: Path) -> EpisodePair:
    """One episode, called after its ground truth; the prediction may be a folder of images.

    Raises:
        InputError: a file is missing, not a file, or has an unsupported extension.
    """
    truth = Clip(find_file(ground_truth, "ground-truth"))
    return Episode(ground_truth.name, truth).with_prediction(prediction_clip(prediction))
