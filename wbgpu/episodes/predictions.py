"""What a folder of saved predictions holds."""

from __future__ import annotations

from pathlib import Path

from wbgpu.episodes.videos import VIDEO_EXTENSIONS, find_videos
from wbgpu.records.clip import Clip

CLIP_EXTENSIONS = VIDEO_EXTENSIONS
"""Of files that hold the frames of an episode, in lower case."""


def find_clips(root: Path) -> dict[str, Clip]:
    """Predictions below ``root`` by relative POSIX path, sorted.

    Raises:
        InputError: as `find_videos`.
    """
    return {name: Clip(path) for name, path in find_videos(root, "predictions").items()}
