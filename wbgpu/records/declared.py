"""What a suite says about a clip before it is opened."""

from __future__ import annotations

from dataclasses import dataclass

from wbgpu.records.video import VideoInfo, is_same_rate


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
        if self.num_frames not in (None, info.num_frames):
            wrong = f"it has {info.num_frames} frame(s), but {self.num_frames} are declared"
        elif self.size not in (None, (info.width, info.height)):
            declared = "x".join(map(str, self.size))
            wrong = f"its frames are {info.resolution}, but {declared} is declared"
        elif not is_same_rate(self.fps, info.fps):
            wrong = f"it has {info.fps:g} frames per second, but {self.fps:g} are declared"
        else:
            return None
        return f"{wrong} by {self.place}"
