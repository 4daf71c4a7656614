"""Benches that really listen: in a thread, or as a process that can be killed."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from tests.conftest import REPOSITORY
from wbgpu.bench.serve import server_config
from wbgpu.bench.sessions import Bench


@dataclass
class Server:
    """Where a bench listens."""

    port: int
    bench: Bench | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def call(self, method, path, body=None, *, raw=None, headers=None):
        """Status, document and headers of one request."""
        connection = self.connection()
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        kind = {} if data is None else {"Content-Type": "application/json"}
        connection.request(method, path, data, {**kind, **(headers or {})})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, json.loads(content), response.headers

    def get(self, path):
        status, document, _ = self.call("GET", path)
        assert status == 200, document
        return document

    def session(self, **fields):
        """Path of a new session."""
        body = {"env": "block_to_bowl", "seed": 7, "max_steps": 5, **fields}
        status, document, _ = self.call("POST", "/bench/sessions", body)
        assert status == 201, document
        return f"/bench/sessions/{document['session_id']}"


def uniform(observation, step=None):
    """Body of a prediction."""
    document = {
        "prediction": {
            "per_variable": [
                [
                    n,
                    {
                        "Categorical": {
                            "outcomes": [f"o{i}" for i in range(k)],
                            "probs": [1 / k] * k,
                        }
                    },
                ]
                for n, k in observation["prediction_schema"]
            ]
        }
    }
    return document if step is None else {"step": step, **document}


@contextmanager
def serving(bench: Bench) -> Iterator[Server]:
    """A bench in a thread."""
    # With its protocol named, asyncio sends without delay, as on sockets that uvicorn makes.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(server_config(bench))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield Server(listener.getsockname()[1], bench)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class ServerProcess:
    """`wbgpu bench serve` as a process."""

    def __init__(self, location: str, log: Path, *arguments: str, port: int = 0) -> None:
        if port == 0:
            with socket.create_server(("127.0.0.1", 0)) as probe:
                port = probe.getsockname()[1]
        self.server = Server(port)
        self._log = log.open("ab")
        command = [sys.executable, "-m", "wbgpu", "bench", "serve", "--store", location]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), *arguments],
            stderr=self._log,
            stdout=self._log,
            cwd=log.parent,
            env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{os.environ.get('PYTHONPATH', '')}"},
        )
        self._wait(log)

    def _wait(self, log: Path) -> None:
        while True:
            assert self.process.poll() is None, log.read_text()
            try:
                assert self.server.get("/healthz") == {"status": "ok"}
                return
            except ConnectionError:
                time.sleep(0.05)

    def stop(self, how: signal.Signals) -> int:
        """End the process; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(30)
        self._log.close()
        return code
