"""Whether a server can listen where it was told to."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

from wbgpu.errors import ConfigurationError

_REFUSED = (errno.EADDRINUSE, errno.EACCES)


def check_address(host: str, port: int) -> None:
    """Refuse an address that cannot be listened at, before anything is made for it.

    Args:
        host: name or address of this machine.
        port: 0 is any that is free.

    Raises:
        ConfigurationError: the port is taken or not allowed, or the host is not of this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _refusal(host, port, error) from error
    outcomes = [_bind_error(address) for address in found]
    for failed in outcomes:
        # A name may also stand for an IPv6 address that the machine lacks; servers skip those.
        if failed is not None and (failed.errno in _REFUSED or None not in outcomes):
            raise _refusal(host, port, failed)


def _bind_error(found: tuple[Any, ...]) -> OSError | None:
    family, kind, protocol, _, address = found
    try:
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":
                # As servers do: a port that was closed a moment ago is free.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


def _refusal(host: str, port: int, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot listen at --host {host} --port {port}: {error.strerror}; choose another, or end "
        "what listens there"
    )
