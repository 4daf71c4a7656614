"""When a file was made, or is to say that it was made."""

from __future__ import annotations

import os
from datetime import datetime, timezone

from wbgpu.errors import ConfigurationError


def created_at() -> str:
    """Now, UTC, ISO 8601; where ``SOURCE_DATE_EPOCH`` is set, that second instead.

    Builds that are to be repeatable set it (https://reproducible-builds.org/specs/
    source-date-epoch/): two runs of one evaluation then write equal bytes.

    Raises:
        ConfigurationError: the variable is no number of seconds.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        return datetime.now(timezone.utc).isoformat()
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc).isoformat()
    except (ValueError, OverflowError, OSError):
        raise ConfigurationError(
            f"SOURCE_DATE_EPOCH: expected seconds since 1970 as an integer, got {seconds!r}"
        ) from None
