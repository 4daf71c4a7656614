"""Run the dashboard with uvicorn until it is told to stop."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import uvicorn

from wbgpu.dashboard.app import create_app
from wbgpu.dashboard.runs import RunFolder
from wbgpu.errors import InputError

_ANY_HOST = ("0.0.0.0", "::")
_OPEN_AFTER_SECONDS = 1.0


def serve(
    target: Path,
    *,
    host: str,
    port: int,
    open_browser: bool,
    num_films: int = 1,
    policy: str = "worldbench",
) -> None:
    """Answer requests until SIGINT or SIGTERM.

    Args:
        target: a folder of runs, or one result.
        host, port: to listen at.
        open_browser: show it, in the browser that the system has.
        num_films, policy: as :func:`wbgpu.dashboard.app.create_app`.

    Raises:
        InputError: there is no such folder or file.
    """
    if not target.exists():
        raise InputError(f"{target}: there is no such folder or file")
    hosts = ("*",) if host in _ANY_HOST else tuple({host, "localhost", "127.0.0.1", "[::1]"})
    app = create_app(RunFolder(target), num_films=num_films, policy=policy, hosts=hosts)
    if open_browser:
        url = f"http://{'localhost' if host in _ANY_HOST else host}:{port}/"
        timer = threading.Timer(_OPEN_AFTER_SECONDS, webbrowser.open, (url,))
        timer.daemon = True
        timer.start()
    uvicorn.run(app, host=host, port=port, log_level="warning")
