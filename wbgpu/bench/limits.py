"""What one client may ask of the server."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from wbgpu.errors import ConfigurationError

_MAX_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits:
    """Limits of a server; a client is an address.

    Attributes:
        max_open_sessions: unfinished sessions that a client may have.
        session_seconds: how long a session may last.
        min_steps: of a scored session. The result of a short one tells nearly what the answer key
            says about single outcomes.
        max_body_bytes: of a request.
        max_requests_per_second: of a client, on average.
    """

    max_open_sessions: int = 256
    session_seconds: float = 24 * 3600.0
    min_steps: int = 1
    max_body_bytes: int = 2**20
    max_requests_per_second: float = 10_000.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ConfigurationError(f"{name}: expected more than 0, got {value}")


class RateLimiter:
    """A bucket of tokens per client: a second's worth fits in, and a request takes one.

    Args:
        per_second: tokens that a bucket gains.
        clock: seconds.
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._size = max(per_second, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, client: str) -> bool:
        """Take a token of a client, if it has one; whether it had."""
        now = self._clock()
        tokens, since = self._buckets.pop(client, (self._size, now))
        tokens = min(self._size, tokens + (now - since) * self._per_second)
        is_admitted = tokens >= 1.0
        self._buckets[client] = (tokens - is_admitted, now)
        if len(self._buckets) > _MAX_CLIENTS:
            # The one that has been silent longest; its bucket is the likeliest to be full.
            self._buckets.popitem(last=False)
        return is_admitted
