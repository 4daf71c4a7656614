"""Which episodes are meant: ``0:3,7,2``."""

from __future__ import annotations

import re

from wbgpu.errors import ConfigurationError


def parse_selection(selection: str) -> tuple[int, ...]:
    """Numbers and ranges ``START:STOP`` (without STOP), in the order given, each once.

    Raises:
        ConfigurationError: it is none; the message names the part that is wrong.
    """
    chosen: dict[int, None] = {}
    for part in selection.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?::\s*(\d+)\s*)?", part, re.ASCII)
        if match is None:
            raise ConfigurationError(
                f"episodes: expected numbers and ranges such as 0:3,7,2, got {part!r} in "
                f"{selection!r}"
            )
        start = int(match[1])
        stop = start + 1 if match[2] is None else int(match[2])
        if stop <= start:
            raise ConfigurationError(
                f"episodes: the range {part.strip()!r} is empty; START:STOP ends before STOP"
            )
        chosen |= dict.fromkeys(range(start, stop))
    return tuple(chosen)
