"""What a folder of saved predictions holds: videos, animations, arrays or folders of images."""

from __future__ import annotations

import os
from pathlib import Path

from wbgpu.episodes.videos import VIDEO_EXTENSIONS, find_files
from wbgpu.errors import InputError
from wbgpu.records.array_file import ARRAY_EXTENSIONS
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import has_images, image_clip

ANIMATION_EXTENSIONS = (".gif",)
"""In lower case."""

CLIP_EXTENSIONS = VIDEO_EXTENSIONS + ANIMATION_EXTENSIONS + ARRAY_EXTENSIONS
"""Of files that hold the frames of an episode, in lower case."""


def find_clips(root: Path) -> dict[str, Clip]:
    """Predictions below ``root`` by relative POSIX path, sorted.

    They are of one kind: the videos; without any the animations; without any the arrays; without
    any the folders of images. So logits or pictures beside videos are not taken for predictions.

    Raises:
        InputError: as `wbgpu.episodes.videos.find_files`, or a folder of images lacks frames.
    """
    for extensions in (VIDEO_EXTENSIONS, ANIMATION_EXTENSIONS, ARRAY_EXTENSIONS):
        if found := find_files(root, "predictions", extensions):
            return {name: Clip(path) for name, path in found.items()}
    folders = sorted(Path(folder) for folder, _, _ in os.walk(root) if Path(folder) != root)
    return {f.relative_to(root).as_posix(): image_clip(f) for f in folders if has_images(f)}


def prediction_clip(path: Path) -> Clip:
    """One episode's prediction: a file, or a folder of images.

    Raises:
        InputError: it is missing, of another kind, or a folder of images lacks frames.
    """
    if not path.exists():
        raise InputError(f"prediction video does not exist: {path}")
    if path.is_dir():
        return image_clip(path)
    if path.suffix.lower() not in CLIP_EXTENSIONS:
        raise InputError(
            f"prediction has an unsupported extension {path.suffix!r}: {path}; supported: "
            f"{', '.join(sorted(CLIP_EXTENSIONS))}, or a folder of images"
        )
    return Clip(path)
