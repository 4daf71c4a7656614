"""What a model predicted, kept as videos that hold every pixel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import torch
from torch import Tensor

from wbgpu.episodes.pairing import EpisodePair
from wbgpu.errors import ConfigurationError
from wbgpu.evaluation.live_prediction import LiveEpisode
from wbgpu.video.encode import write_video
from wbgpu.video.resize import resize_frames

_FPS_OF_UNKNOWN = 10


class SavedPredictions:
    """Writes each prediction, context frames first, as lossless .mp4 under its episode's name.

    Evaluated with the same ``suite.num_context``, the folder gives the same scores.

    Args:
        folder: is made; files of the same name are replaced.
        pairs: all episodes of the suite.

    Raises:
        ConfigurationError: a prediction would replace ground truth.
    """

    def __init__(self, folder: Path, pairs: Sequence[EpisodePair]) -> None:
        self._folder = folder
        truths = {os.path.realpath(pair.ground_truth.path) for pair in pairs}
        for pair in pairs:
            if os.path.realpath(self._file(pair.episode_id)) in truths:
                raise ConfigurationError(
                    f"save_predictions: {self._file(pair.episode_id)} is ground truth, which the "
                    "prediction would replace; name another folder"
                )

    def __call__(self, episode: LiveEpisode, frames: Tensor) -> None:
        """Write one.

        Args:
            episode: whose future it is.
            frames: uint8 ``[T, 3, H, W]``; the context is resized to their size.
        """
        frames, context = frames.cpu(), episode.context.cpu()
        height, width = frames.shape[2:]
        if context.shape[2:] != frames.shape[2:]:
            context = resize_frames(context, height=height, width=width)
        fps = episode.info.fps or _FPS_OF_UNKNOWN
        file = self._file(episode.episode_id)
        write_video(file, torch.cat((context, frames)), fps, lossless=True)

    def _file(self, episode_id: str) -> Path:
        return self._folder / PurePosixPath(episode_id).with_suffix(".mp4")
