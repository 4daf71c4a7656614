"""Pair ground-truth videos with predictions by relative path.

The episode id is the ground truth's POSIX path relative to its root, extension included, as
worldbench's. A prediction belongs to it when its relative path is the same but for the
extension: ``a/b.mp4`` pairs with ``a/b.mkv``.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NoReturn

from wbgpu.errors import InputError, PairingError

VIDEO_EXTENSIONS = (".avi", ".mkv", ".mov", ".mp4", ".webm")
"""worldbench's, compared without case."""

_MAX_NAMES = 20


@dataclass(frozen=True)
class EpisodePair:
    """One episode: its id, its ground-truth video and its predicted video."""

    episode_id: str
    ground_truth: Path
    prediction: Path


def find_videos(root: Path, role: str) -> dict[str, Path]:
    """Videos below ``root`` by relative POSIX path, sorted.

    Folders behind symbolic links are not entered, as in worldbench; links to files are followed.

    Raises:
        InputError: the root is missing or not a folder (``role`` names it), a folder below cannot
            be read, or a video is no regular file or has a name that is not UTF-8.
    """
    if not root.exists():
        raise InputError(f"{role} folder does not exist: {root}")
    if not root.is_dir():
        raise InputError(f"{role} root is not a directory: {root}")
    found: dict[str, Path] = {}
    for folder, _, names in os.walk(root, onerror=_refuse):
        for name in names:
            path = Path(folder, name)
            if path.suffix.lower() in VIDEO_EXTENSIONS:
                found[_episode_id(path, root)] = path
    return dict(sorted(found.items()))


def ground_truth_videos(root: Path) -> dict[str, Path]:
    """Videos of a suite by episode id, sorted.

    Raises:
        InputError: as `find_videos`.
        PairingError: no video at all, or two that differ only in their extension.
    """
    videos = find_videos(root, "ground-truth")
    if not videos:
        raise PairingError(
            f"no videos under {root}; looked for files ending in {', '.join(VIDEO_EXTENSIONS)}"
        )
    _by_key(videos, root)
    return videos


def pair_episodes(ground_truth_root: Path, predictions_root: Path) -> tuple[EpisodePair, ...]:
    """Pair two folders of videos, sorted by episode id.

    Raises:
        InputError: a root is missing or not a folder.
        PairingError: no video at all, two videos of one name, or episodes on one side only;
            the message counts and names them.
    """
    ground_truth = ground_truth_videos(ground_truth_root)
    predictions = find_videos(predictions_root, "predictions")
    target_by_key = _by_key(ground_truth, ground_truth_root)
    prediction_by_key = _by_key(predictions, predictions_root)
    missing = [target_by_key[key] for key in target_by_key if key not in prediction_by_key]
    extra = [prediction_by_key[key] for key in prediction_by_key if key not in target_by_key]
    if missing or extra:
        matched = len(target_by_key) - len(missing)
        raise PairingError(
            f"ground truth and predictions do not pair up "
            f"({ground_truth_root} against {predictions_root})\n"
            f"Matched episodes: {matched}\n"
            f"Missing predictions: {len(missing)}{_names(missing)}\n"
            f"Prediction-only episodes: {len(extra)}{_names(extra)}"
        )
    return tuple(
        EpisodePair(episode_id, ground_truth[episode_id], predictions[prediction_by_key[key]])
        for key, episode_id in target_by_key.items()
    )


def pair_files(ground_truth: Path, prediction: Path) -> EpisodePair:
    """One episode from two files; its id is the ground truth's file name.

    Raises:
        InputError: a file is missing, not a file, or has an unsupported extension.
    """
    for path, role in ((ground_truth, "ground-truth"), (prediction, "prediction")):
        find_file(path, role)
    return EpisodePair(ground_truth.name, ground_truth, prediction)


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


def _episode_id(path: Path, root: Path) -> str:
    episode_id = path.relative_to(root).as_posix()
    if not path.is_file():
        raise InputError(f"{path}: not a file; a link that leads nowhere, a FIFO or a device")
    try:
        episode_id.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{root}: the file name {os.fsencode(episode_id)!r} is not UTF-8; rename it, or run in "
            "a UTF-8 locale"
        ) from None
    return episode_id


def _refuse(error: OSError) -> NoReturn:
    # os.walk passes over unreadable folders, and their episodes would be missing on both sides.
    raise InputError(f"{error.filename}: the folder cannot be read ({error.strerror})")


def _by_key(files: Mapping[str, Path], root: Path) -> dict[str, str]:
    """Relative path without extension -> relative path."""
    ids: dict[str, list[str]] = {}
    for relative in files:
        # File names typed on macOS are decomposed (NFD); the same name made on Linux is not.
        key = unicodedata.normalize("NFC", str(PurePosixPath(relative).with_suffix("")))
        ids.setdefault(key, []).append(relative)
    twice = [f"{' and '.join(names)}" for names in ids.values() if len(names) > 1]
    if twice:
        raise PairingError(
            f"duplicate episodes under {root}: videos differ only in their extension: "
            f"{len(twice)}{_names(twice)}"
        )
    return {key: names[0] for key, names in ids.items()}


def _names(items: Iterable[str]) -> str:
    listed = list(items)
    lines = [f"\n  {name}" for name in listed[:_MAX_NAMES]]
    if len(listed) > _MAX_NAMES:
        lines.append(f"\n  ... and {len(listed) - _MAX_NAMES} more")
    return "".join(lines)
