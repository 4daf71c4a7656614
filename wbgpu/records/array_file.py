"""Frames saved as an array: which files, and which of their arrays."""

from __future__ import annotations

from collections.abc import Sequence

ARRAY_EXTENSIONS = (".npy", ".npz", ".safetensors")
"""In lower case."""

FRAMES_NAME = "frames"
"""Of the array that holds the frames, where a file has several."""


def frames_name(names: Sequence[str]) -> str | None:
    """Which array of a file holds the frames; ``None`` where it does not say."""
    if FRAMES_NAME in names:
        return FRAMES_NAME
    return names[0] if len(names) == 1 else None
