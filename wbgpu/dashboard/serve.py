"""Run the dashboard with uvicorn until it is told to stop."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import uvicorn

from wbgpu.dashboard.app import create_app
from wbgpu.dashboard.runs import RunFolder
from wbgpu.gating.load import Policy

_ANY_HOST = ("0.0.0.0", "::")
_OPEN_AFTER_SECONDS = 1.0


def address_of(host: str, port: int) -> str:
    """What a browser on this machine calls a server that listens there."""
    if host in _ANY_HOST:
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(
    target: Path,
    *,
    host: str,
    port: int,
    open_browser: bool,
    num_films: int,
    policy: Policy,
    configuration_file: str | None,
) -> None:
    """Answer requests until SIGINT or SIGTERM.

    Args:
        target: a folder of runs, or one result.
        host, port: to listen at.
        open_browser: show it, in the browser that the system has.
        num_films, policy, configuration_file: as :func:`wbgpu.dashboard.app.create_app`.
    """
    own = {host.lower(), "localhost", "127.0.0.1", "[::1]"}
    hosts = ("*",) if host in _ANY_HOST else tuple(own)
    app = create_app(
        RunFolder(target),
        hosts=hosts,
        num_films=num_films,
        policy=policy,
        configuration_file=configuration_file,
    )
    if open_browser:
        timer = threading.Timer(_OPEN_AFTER_SECONDS, webbrowser.open, (address_of(host, port),))
        timer.daemon = True
        timer.start()
    uvicorn.run(app, host=host, port=port, log_level="warning")
