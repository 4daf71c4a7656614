"""What a model predicted, kept as videos that hold every pixel."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import torch
from torch import Tensor

from wbgpu.evaluation.live_prediction import LiveEpisode
from wbgpu.video.encode import write_video
from wbgpu.video.resize import resize_frames

_FPS_OF_UNKNOWN = 10


class SavedPredictions:
    """Writes each prediction, context frames first, as lossless .mp4 under its episode's name.

    Evaluated with the same ``suite.num_context``, the folder gives the same scores.

    Args:
        folder: is made; files of the same name are replaced.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, episode: LiveEpisode, frames: Tensor) -> None:
        """Write one.

        Args:
            episode: whose future it is.
            frames: uint8 ``[T, 3, H, W]``; the context is resized to their size.
        """
        name = PurePosixPath(episode.episode_id).with_suffix(".mp4")
        frames, context = frames.cpu(), episode.context.cpu()
        height, width = frames.shape[2:]
        if context.shape[2:] != frames.shape[2:]:
            context = resize_frames(context, height=height, width=width)
        fps = episode.info.fps or _FPS_OF_UNKNOWN
        write_video(self._folder / name, torch.cat((context, frames)), fps, lossless=True)
