"""Run the server with uvicorn until it is told to stop, and log in JSON lines."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from types import FrameType
from typing import NoReturn

import uvicorn

from wbgpu.bench.answer_key import AnswerKey
from wbgpu.bench.limits import Limits
from wbgpu.bench.secret import find_secret
from wbgpu.bench.server import create_app
from wbgpu.bench.sessions import Bench
from wbgpu.bench.store import Store
from wbgpu.errors import WbgpuError
from wbgpu.worlds import load_world, world_names

_GRACE_SECONDS = 10


def open_bench(
    store: str, worlds: Sequence[str] | None, limits: Limits, *, paired_episodes: bool = False
) -> Bench:
    """A bench on a store, with the secret that belongs to it.

    Args:
        store: path of an SQLite file, beside which the secret is kept, or a database's URL.
        worlds: names or paths of worlds; all that are shipped by default.
        limits: of clients.
        paired_episodes: see :class:`~wbgpu.bench.sessions.Bench`.

    Raises:
        ConfigurationError: a world, the URL or the secret is wrong.
        InputError: the store cannot be opened, or others may read the secret.
    """
    definitions = [load_world(world) for world in worlds or world_names()]
    opened = Store(store)
    file = opened.file
    try:
        secret = find_secret(None if file is None else file.with_name(f"{file.name}.secret"))
        opened.check_fingerprint(secret.fingerprint)
    except WbgpuError:
        opened.close()
        raise
    return Bench(opened, AnswerKey(definitions, secret), limits, paired_episodes=paired_episodes)


def serve(bench: Bench, host: str, port: int) -> None:
    """Answer requests until SIGINT or SIGTERM; those that are being answered are finished.

    Args:
        bench: does the work.
        host: address to listen at.
        port: 0 is any that is free; the log says which.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("wbgpu.bench", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    # Uvicorn ends well and then raises the signal again, which would look like a crash.
    signal.signal(signal.SIGTERM, _exit)
    uvicorn.Server(server_config(bench, host, port)).run()


def server_config(bench: Bench, host: str = "127.0.0.1", port: int = 0) -> uvicorn.Config:
    """How uvicorn serves a bench.

    Args:
        bench: does the work.
        host: address to listen at.
        port: to listen at.
    """
    return uvicorn.Config(
        create_app(bench),
        host=host,
        port=port,
        # Paths hold the ids that open sessions.
        access_log=False,
        log_config=None,
        # Anybody could send these headers, and pass for another client.
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    sys.exit(0)


class JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)
