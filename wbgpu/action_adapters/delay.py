"""Robots move some time after they are told to."""

from __future__ import annotations

from wbgpu.errors import ConfigurationError


def check_delay(delay_steps: int) -> int:
    """``delay_steps``, checked.

    Raises:
        ConfigurationError: no integer from 0 on.
    """
    if isinstance(delay_steps, bool) or not isinstance(delay_steps, int) or delay_steps < 0:
        raise ConfigurationError(f"delay_steps: expected an integer >= 0, got {delay_steps!r}")
    return delay_steps
