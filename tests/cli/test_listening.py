from __future__ import annotations

import socket

import pytest

from wbgpu.cli.listening import check_address
from wbgpu.errors import ConfigurationError


def test_a_taken_port_is_refused_with_its_number() -> None:
    """The server's own refusal comes as five lines of JSON."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"--port {port}: Address already in use"):
            check_address("127.0.0.1", port)
    check_address("127.0.0.1", port)


def test_any_free_port_will_do() -> None:
    check_address("localhost", 0)


def test_a_host_of_another_machine_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"--host 192\.0\.2\.1 --port 0"):
        check_address("192.0.2.1", 0)
