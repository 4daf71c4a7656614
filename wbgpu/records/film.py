"""Pictures of one episode for a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pictures = npt.NDArray[np.uint8]
"""uint8, 0-255: RGB ``[N, H, W, 3]``, or one channel ``[N, H, W]``."""


@dataclass(frozen=True)
class FilmRow:
    """One row of a filmstrip.

    Attributes:
        label: such as ``ground truth``.
        pictures: one for each of the film's horizons: frames in RGB, or maps of SSIM in one
            channel, where 0 is an SSIM of 0 or less and 255 one of 1.
    """

    label: str
    pictures: Pictures

    @property
    def is_map(self) -> bool:
        """Whether the pictures are maps of similarity."""
        return self.pictures.ndim == 3


@dataclass(frozen=True)
class Film:
    """A filmstrip and a video of one episode.

    Attributes:
        episode_id: the episode.
        horizons: of the strip's columns, 1-based.
        rows: ground truth first.
        video: an MP4 file of the scored steps, its panels side by side; empty for none.
        panels: names of the video's panels from left to right.
        num_video_steps: scored steps that the video shows, from the first.
        missing: why there are no pictures; ``None`` where there are some.
    """

    episode_id: str
    horizons: tuple[int, ...] = ()
    rows: tuple[FilmRow, ...] = ()
    video: bytes = b""
    panels: tuple[str, ...] = ()
    num_video_steps: int = 0
    missing: str | None = None
