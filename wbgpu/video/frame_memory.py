"""Memory for decoded frames that goes back to the system when they are done with."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress

import numpy as np
import numpy.typing as npt

_MIN_BYTES = 1 << 20
_HUGE_PAGE_BYTES = 2 << 20
# Shared is mmap's default: a forked process would then write into its parent's frames.
_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def empty_frames(num_frames: int, height: int, width: int) -> npt.NDArray[np.uint8]:
    """Uninitialised uint8 ``[num_frames, height, width, 3]``.

    Large ones get pages of their own. From malloc, such blocks come and go between small ones that
    stay, and on other threads than their own: an evaluation of a long video grew by 150 to 570 MB
    where 110 MB were in use. Huge pages where Linux has them: filling 16 frames of 256x256 takes
    0.1 ms instead of 1.1.
    """
    shape = (num_frames, height, width, 3)
    num_bytes = math.prod(shape)
    if num_bytes < _MIN_BYTES:
        return np.empty(shape, np.uint8)
    whole_pages = -(-num_bytes // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
    memory = mmap.mmap(-1, whole_pages, **_PRIVATE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # A kernel built without them refuses the advice.
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, num_bytes).reshape(shape)
