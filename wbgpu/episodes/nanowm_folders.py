"""Clips of rollouts that somebody exported: a folder of them, or one."""

from __future__ import annotations

import os
from pathlib import Path

from wbgpu.episodes.pairing import by_key
from wbgpu.episodes.predictions import find_clips, prediction_clip
from wbgpu.episodes.videos import VIDEO_EXTENSIONS
from wbgpu.errors import InputError, PairingError
from wbgpu.records.clip import Clip
from wbgpu.records.image_folder import has_images, image_clip


def is_one_clip(root: Path) -> bool:
    """Whether it is a file, or a folder that itself holds images."""
    return root.is_file() or has_images(root)


def exported_clips(root: Path, role: str) -> dict[str, Clip]:
    """Clips by relative path, sorted; see `wbgpu.episodes.predictions.find_clips`.

    Args:
        root: a folder of them, or one by itself.
        role: ``ground-truth`` or ``predictions``, for messages.

    Raises:
        InputError: as `find_clips`, or there are videos and folders of images: which of them are
            the clips nobody can tell.
        PairingError: there is none, or two of one name.
    """
    if not root.exists():
        raise InputError(f"{role} path does not exist: {root}")
    if root.is_file():
        return {root.name: prediction_clip(root)}
    if has_images(root):
        return {root.resolve().name: image_clip(root)}
    clips = find_clips(root)
    if not clips:
        raise PairingError(f"no {role} videos, arrays or folders of images under {root}")
    if any(Path(name).suffix.lower() in VIDEO_EXTENSIONS for name in clips):
        images = [folder for folder, _, _ in os.walk(root) if has_images(Path(folder))]
        if images:
            raise InputError(
                f"{root}: holds videos and folders of images, such as {next(iter(clips))} and "
                f"{images[0]}; keep one kind"
            )
    # Raises where two have one name.
    by_key(clips, root)
    return clips
