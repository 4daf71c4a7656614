"""SHA-256 digests that say which files a result was computed from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

_CHUNK_BYTES = 1 << 20


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        digest = hashlib.sha256()
        while chunk := handle.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def dataset_identifier(files: Mapping[str, Path]) -> str:
    """``sha256:...`` over every episode id and its bytes, in id order; equal to worldbench's.

    Args:
        files: ground-truth files by episode id.
    """
    digest = hashlib.sha256()
    for episode_id, path in sorted(files.items()):
        digest.update(episode_id.encode("utf-8"))
        with path.open("rb") as handle:
            while chunk := handle.read(_CHUNK_BYTES):
                digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"
