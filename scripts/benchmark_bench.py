"""Predictions per second of `wbgpu bench serve`, with its clients on the same machine.

A server process on a new store; clients side by side on loopback, each with a connection and a
session of its own, play as contestants do: observe, predict, and the result in the end. Then the
server is stopped, and the store has to hold every forecast that was acknowledged, bit for bit, and
the totals that were answered. Latencies are of `predict`, in a closed loop: of N clients, N - 1
wait for the others.

    python scripts/benchmark_bench.py [--quick] [--postgres URL] [--output FILE]

The URL, postgresql://user@host:port/database, is of a PostgreSQL in which a database is made for
this, and removed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import secrets
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from machine import machine

from wbgpu.bench.answer_key import packed, score
from wbgpu.bench.limits import Limits
from wbgpu.bench.protocol import prediction_document
from wbgpu.bench.serve import open_bench
from wbgpu.worlds import WorldDefinition, load_world

WORLD = "block_to_bowl"
NUM_CLIENTS = (1, 16, 64)
HEADLINE_CLIENTS = 16
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass
class Played:
    """What clients know: forecasts that were acknowledged, results, and how long it all took."""

    forecasts: dict[tuple[str, int], bytes] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    num_errors: int = 0
    seconds: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="some seconds, fewer rounds")
    parser.add_argument("--postgres", metavar="URL", help="measure this PostgreSQL as well")
    parser.add_argument("--output", type=Path, help="write the measurements here as JSON")
    arguments = parser.parse_args()
    num_rounds, num_predictions = (3, 1600) if arguments.quick else (7, 6400)
    os.environ["WBGPU_BENCH_SECRET"] = secrets.token_hex(32)
    print(
        f"{'store':12}{'clients':>9}{'predictions/s':>15}{'p50 ms':>9}{'p99 ms':>9}"
        f"{'server CPU us':>15}{'errors':>8}{'lost':>6}"
    )
    measured = {"sqlite": measure("sqlite", "bench.sqlite", num_rounds, num_predictions)}
    if arguments.postgres:
        with new_database(arguments.postgres) as url:
            measured["postgresql"] = measure("postgresql", url, num_rounds, num_predictions)
    headline = measured["sqlite"][str(HEADLINE_CLIENTS)]
    every = [row for rows in measured.values() for row in rows.values()]
    document = {
        "benchmark": "observe and predict over HTTP, server and clients on one machine",
        "predictions_per_second": headline["predictions_per_second"],
        "p50_ms": headline["p50_ms"],
        "p99_ms": headline["p99_ms"],
        "num_errors": sum(row["num_errors"] for row in every),
        "num_lost": sum(row["num_lost"] for row in every),
        "world": WORLD,
        "num_clients": HEADLINE_CLIENTS,
        "rounds": num_rounds,
        "predictions_per_round": num_predictions,
        "by_store_and_clients": measured,
        "machine": {
            **machine(("wbgpu", "starlette", "uvicorn", "uvloop", "sqlalchemy", "psycopg")),
            "sqlite": sqlite3.sqlite_version,
            "system": platform.platform(),
        },
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if document["num_errors"] or document["num_lost"]:
        sys.exit("predictions were refused or lost")


def measure(
    store: str, location: str, num_rounds: int, num_predictions: int
) -> dict[str, dict[str, Any]]:
    """Rows by number of clients: medians over rounds that are interleaved."""
    world = load_world(WORLD)
    played: dict[int, list[Played]] = {number: [] for number in NUM_CLIENTS}
    cpu: dict[int, list[float]] = {number: [] for number in NUM_CLIENTS}
    with tempfile.TemporaryDirectory() as folder:
        with running(location, Path(folder)) as (port, process):
            asyncio.run(play(port, world, 1, 100, Played()))
            for _ in range(num_rounds):
                for number in NUM_CLIENTS:
                    done, before = Played(), cpu_seconds(process)
                    num_steps = min(num_predictions // number, world.max_steps)
                    asyncio.run(play(port, world, number, num_steps, done))
                    cpu[number].append((cpu_seconds(process) - before) / len(done.latencies))
                    played[number].append(done)
        lost = {n: sum(num_lost(location, folder, done) for done in played[n]) for n in played}
    rows = {}
    for number, rounds in played.items():
        rates = [len(done.latencies) / done.seconds for done in rounds]
        latencies = sorted(latency for done in rounds for latency in done.latencies)
        rows[str(number)] = row = {
            "predictions_per_second": statistics.median(rates),
            "predictions_per_second_of_rounds": rates,
            "p50_ms": latencies[len(latencies) // 2] * 1e3,
            "p99_ms": latencies[len(latencies) * 99 // 100] * 1e3,
            "server_cpu_microseconds_per_prediction": statistics.median(cpu[number]) * 1e6,
            "num_predictions": len(latencies),
            "num_errors": sum(done.num_errors for done in rounds),
            "num_lost": lost[number],
        }
        print(
            f"{store:12}{number:9}{row['predictions_per_second']:15.0f}{row['p50_ms']:9.2f}"
            f"{row['p99_ms']:9.2f}{row['server_cpu_microseconds_per_prediction']:15.0f}"
            f"{row['num_errors']:8}{row['num_lost']:6}",
            flush=True,
        )
    return rows


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """URL of a database that exists as long as this."""
    name = f"wbgpu_benchmark_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{server.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running(location: str, folder: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server process, and the port that it listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "wbgpu", "bench", "serve", "--store", location]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--max-requests-per-second", "1000000"],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    try:
        while True:
            if process.poll() is not None:
                sys.exit((folder / "log").read_text())
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


async def play(
    port: int, world: WorldDefinition, num_clients: int, num_steps: int, played: Played
) -> None:
    """A session for each client, all at once; adds to ``played``."""
    sessions = [Session(port, world, number, num_steps) for number in range(num_clients)]
    for session in sessions:
        await session.begin()
    start = time.perf_counter()
    await asyncio.gather(*(session.play(played) for session in sessions))
    played.seconds += time.perf_counter() - start
    for session in sessions:
        await session.end(played)


class Session:
    """A client of few lines over a socket, so that the server and not the client is measured."""

    def __init__(self, port: int, world: WorldDefinition, number: int, num_steps: int) -> None:
        self._port = port
        self._session_id = ""
        self._body = json.dumps({"env": WORLD, "seed": number, "max_steps": num_steps}).encode()
        # Every forecast is one that is made once, so that none can be taken for another.
        self._forecasts = [
            [uneven(v.num_outcomes, number * num_steps + step) for v in world.schema.variables]
            for step in range(num_steps)
        ]
        self._predictions = [
            json.dumps(prediction_document(world.schema, forecast, step)).encode()
            for step, forecast in enumerate(self._forecasts)
        ]

    async def begin(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        status, document = await self._call("POST", "", self._body)
        assert status == 201, document
        self._session_id = document["session_id"]

    async def play(self, played: Played) -> None:
        for step, body in enumerate(self._predictions):
            status, document = await self._call("GET", f"/{self._session_id}/observe")
            played.num_errors += status != 200 or document["step"] != step
            start = time.perf_counter()
            status, document = await self._call("POST", f"/{self._session_id}/predict", body)
            played.latencies.append(time.perf_counter() - start)
            if status == 200 and document["acknowledged"]:
                played.forecasts[self._session_id, step] = packed(self._forecasts[step])
            else:
                played.num_errors += 1

    async def end(self, played: Played) -> None:
        status, result = await self._call("GET", f"/{self._session_id}/result")
        played.num_errors += status != 200
        played.results[self._session_id] = result
        self._writer.close()
        await self._writer.wait_closed()

    async def _call(self, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
        self._writer.write(
            f"{method} /bench/sessions{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        return int(head[9:12]), json.loads(await self._reader.readexactly(length))


def uneven(num_outcomes: int, number: int) -> list[float]:
    first = 0.2 + 0.6 / (number + 2)
    return [first] + [(1 - first) / (num_outcomes - 1)] * (num_outcomes - 1)


def num_lost(location: str, folder: str, played: Played) -> int:
    """Acknowledged forecasts that the stopped server's store does not hold; checks all totals."""
    bench = open_bench(location if "://" in location else f"{folder}/{location}", None, Limits())
    try:
        lost = len(played.forecasts)
        for session_id, result in played.results.items():
            row = bench.store.session(session_id)
            assert row is not None
            steps = bench.steps(row)
            for number, step in enumerate(steps):
                lost -= played.forecasts.get((session_id, number)) == step.forecast
            scored = score(load_world(WORLD), steps)
            assert {key: result[key] for key in scored} == scored
        return lost
    finally:
        bench.store.close()


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Seconds of processor time of the server; 0 where the system does not say."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / TICKS_PER_SECOND


if __name__ == "__main__":
    main()
