"""Fragmented mp4: was it cut short?

Such a file announces no number of frames: each fragment, a ``moof`` box and its ``mdat``, tells its
own, and FFmpeg skips one that is cut off. What can be seen is a last box that says it is longer
than the file. What cannot be seen is a cut between two boxes, which leaves a valid file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def is_fragment_cut_off(path: Path) -> bool:
    """Whether an mp4 has fragments and ends inside one; other boxes hold no frames."""
    size = path.stat().st_size
    has_fragments = False
    with path.open("rb") as file:
        for kind, end in _boxes(file, size):
            has_fragments = has_fragments or kind == b"moof"
            if end > size:
                return has_fragments and kind in (b"moof", b"mdat", b"")
    return False


def _boxes(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int]]:
    """Type and end of each top-level box (ISO/IEC 14496-12, 4.2); no type where it is cut off."""
    start = 0
    while start < size:
        file.seek(start, os.SEEK_SET)
        header = file.read(16)
        if len(header) < 8:
            yield b"", size + 1
            return
        length, kind = int.from_bytes(header[:4], "big"), header[4:8]
        if length == 1:  # a 64-bit length follows
            length = int.from_bytes(header[8:16], "big")
        elif length == 0:  # to the end of the file
            length = size - start
        if length < 8:
            return
        start += length
        yield kind, start
