"""What a suite says about a clip before it is opened."""

from __future__ import annotations

from dataclasses import dataclass

from wbgpu.records.video import VideoInfo


@dataclass(frozen=True)
class Declared:
    """Facts that a clip must have; a file with others is refused.

    Attributes:
        place: who says so, such as a setting, or a file and JSON path.
        num_frames: of the clip, context included; ``None`` where nothing is said.
        size: width and height in pixels, or ``None``.
        fps: frames per second, or ``None``. Clips that say no rate are not held to it.
    """

    place: str
    num_frames: int | None = None
    size: tuple[int, int] | None = None
    fps: float | None = None

    def contradiction(self, info: VideoInfo) -> str | None:
        """What is wrong with a clip that was opened, or ``None``."""
        found = "x".join(map(str, self.size or (info.width, info.height)))
        if self.num_frames not in (None, info.num_frames):
            wrong = f"it has {info.num_frames} frame(s), but {self.num_frames} are declared"
        elif found != info.resolution:
            wrong = f"its frames are {info.resolution}, but {found} is declared"
        elif not _same_rate(self.fps, info.fps):
            wrong = f"it has {info.fps:g} frames per second, but {self.fps:g} are declared"
        else:
            return None
        return f"{wrong} by {self.place}"


def _same_rate(declared: float | None, found: float | None) -> bool:
    """Within the tolerance of strict alignment, which is worldbench's."""
    if declared is None or found is None:
        return True
    return abs(declared - found) <= max(0.05, 0.01 * max(declared, found))
