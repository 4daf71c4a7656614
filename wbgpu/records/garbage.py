"""Python's garbage collector, kept from work that makes no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No collection inside.

    Building a document makes thousands of objects that stay, at which Python looks through all
    objects for garbage; beside torch and Lightning that takes 0.3 s each time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
