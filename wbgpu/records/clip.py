"""Where the frames of one side of an episode lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wbgpu.records.declared import Declared
from wbgpu.records.tile import Tile
from wbgpu.records.video import VideoInfo


@dataclass(frozen=True)
class Clip:
    """Frames on disk: a file, part of a file, or a folder of images.

    Attributes:
        path: the file, or the folder of images.
        images: the image files in the order of their frames; empty where the path is a file.
        frames: which of the file's frames, ``start`` to ``stop - 1``; ``None`` for all.
        tile: which picture of several in each frame; ``None`` for all.
        float_range: what black and white are in an array of floats; ``None`` refuses floats.
        fps: frames per second, where the file does not say them. Where ``frames`` were found by
            their times, the rate by which they were; a file with another is refused.
        declared: what the suite says of these frames; a clip with others is refused.
    """

    path: Path
    images: tuple[Path, ...] = ()
    frames: tuple[int, int] | None = None
    fps: float | None = None
    tile: Tile | None = None
    float_range: tuple[float, float] | None = None
    declared: Declared | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return self.images or (self.path,)

    @classmethod
    def of(cls, info: VideoInfo) -> Clip:
        """What a reader has described, apart from ``images``, which are found again, and what was
        declared.
        """
        return cls(
            Path(info.path),
            frames=info.frames,
            fps=info.fps,
            tile=info.tile,
            float_range=info.float_range,
        )
