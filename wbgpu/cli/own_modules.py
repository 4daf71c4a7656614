"""Classes of the user's own, which configurations name and nobody has installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def modules_of_this_folder() -> Iterator[None]:
    """Import also from the current folder: classes lie beside the data as often as not."""
    before = list(sys.path)
    # Last, so that no file here can hide a package.
    sys.path.append(str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before
