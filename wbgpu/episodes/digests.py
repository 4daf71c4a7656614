"""SHA-256 digests that say which files a result was computed from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

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


def dataset_identifier(files: Mapping[str, Path]) -> str:
    """``sha256:...`` of ground-truth files by episode id."""
    dataset = DatasetDigest()
    for episode_id, path in sorted(files.items()):
        file_sha256(path, episode_id, dataset)
    return dataset.identifier()
