"""SHA-256 digests that say which files a result was computed from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from wbgpu.records.clip import Clip

_CHUNK_BYTES = 1 << 20


class DatasetDigest:
    """Digest over every episode id and its bytes, in id order; equal to worldbench's."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def begin(self, episode_id: str) -> None:
        """Start the next episode; ids must rise."""
        self._digest.update(episode_id.encode("utf-8"))

    def add(self, chunk: bytes) -> None:
        """Add bytes of the current episode's file."""
        self._digest.update(chunk)

    def identifier(self) -> str:
        """``sha256:...``."""
        return f"sha256:{self._digest.hexdigest()}"


def file_sha256(
    path: Path, episode_id: str | None = None, dataset: DatasetDigest | None = None
) -> str:
    """Hex SHA-256 of a file's bytes, which are read once.

    Args:
        path: the file.
        episode_id: its episode; needed with ``dataset``.
        dataset: a digest that the file is added to as well.
    """
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        if dataset is not None:
            dataset.begin(episode_id or "")
        while chunk := handle.read(_CHUNK_BYTES):
            digest.update(chunk)
            if dataset is not None:
                dataset.add(chunk)
    return digest.hexdigest()


def clip_sha256(
    clip: Clip,
    episode_id: str | None = None,
    dataset: DatasetDigest | None = None,
    known: dict[Path, str] | None = None,
) -> str:
    """Hex SHA-256 of what a clip is read from: of the file's bytes, or of the list of images.

    The list has a line for each image, of its digest, two spaces and its name, as ``sha256sum``
    prints it.

    Args:
        clip: the frames.
        episode_id: its episode; needed with ``dataset``.
        dataset: a digest that the clip is added to as well. A whole file enters it by its bytes,
            as in worldbench; anything else by its digest and which part it is.
        known: digests of files that several clips share, kept for the next call.
    """
    is_whole = not clip.images and clip.frames is None and clip.tile is None
    if is_whole and dataset is not None:
        return file_sha256(clip.path, episode_id, dataset)
    if clip.images:
        lines = [f"{file_sha256(image)}  {image.name}\n" for image in clip.images]
        digest = hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    else:
        known = {} if known is None else known
        digest = known[clip.path] = known.get(clip.path) or file_sha256(clip.path)
    if dataset is not None:
        dataset.begin(episode_id or "")
        tile = None if clip.tile is None else tuple(clip.tile)
        dataset.add(f"{digest} {clip.frames} {tile}".encode())
    return digest


def dataset_identifier(clips: Mapping[str, Clip]) -> str:
    """``sha256:...`` of ground truth by episode id."""
    dataset, known = DatasetDigest(), dict[Path, str]()
    for episode_id, clip in sorted(clips.items()):
        clip_sha256(clip, episode_id, dataset, known)
    return dataset.identifier()
