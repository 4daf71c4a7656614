"""Videos below a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

from wbgpu.errors import InputError

VIDEO_EXTENSIONS = (".avi", ".mkv", ".mov", ".mp4", ".webm")
"""worldbench's, compared without case."""


def find_videos(root: Path, role: str) -> dict[str, Path]:
    """Videos below ``root`` by relative POSIX path, sorted; see `find_files`."""
    return find_files(root, role, VIDEO_EXTENSIONS)


def find_files(root: Path, role: str, extensions: tuple[str, ...]) -> dict[str, Path]:
    """Files below ``root`` with these extensions by relative POSIX path, sorted.

    Folders behind symbolic links are not entered, as in worldbench; links to files are followed.

    Raises:
        InputError: the root is missing or not a folder (``role`` names it), a folder below cannot
            be read, or such a file is no regular file or has a name that is not UTF-8.
    """
    if not root.exists():
        raise InputError(f"{role} folder does not exist: {root}")
    if not root.is_dir():
        raise InputError(f"{role} root is not a directory: {root}")
    found: dict[str, Path] = {}
    for folder, _, names in os.walk(root, onerror=_refuse):
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in extensions:
                found[_episode_id(path, root)] = path
    return dict(sorted(found.items()))


def find_file(path: Path, role: str) -> Path:
    """A video that is given by itself.

    Raises:
        InputError: missing, not a file, or with an unsupported extension; ``role`` names it.
    """
    if not path.exists():
        raise InputError(f"{role} video does not exist: {path}")
    if not path.is_file():
        raise InputError(f"{role} path is not a file: {path}")
    if path.suffix.lower() not in VIDEO_EXTENSIONS:
        raise InputError(
            f"{role} video has an unsupported extension {path.suffix!r}: {path}; "
            f"supported: {', '.join(VIDEO_EXTENSIONS)}"
        )
    return path


def check_name(episode_id: str, root: Path) -> None:
    """Refuse a name that no result could hold.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        episode_id.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{root}: the file name {os.fsencode(episode_id)!r} is not UTF-8; rename it, or run in "
            "a UTF-8 locale"
        ) from None


def _episode_id(path: Path, root: Path) -> str:
    episode_id = path.relative_to(root).as_posix()
    if not path.is_file():
        raise InputError(f"{path}: not a file; a link that leads nowhere, a FIFO or a device")
    check_name(episode_id, root)
    return episode_id


def _refuse(error: OSError) -> NoReturn:
    # os.walk passes over unreadable folders, and their episodes would be missing on both sides.
    raise InputError(f"{error.filename}: the folder cannot be read ({error.strerror})")
