from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bench.serving import Server, serving
from tests.conftest import _skip
from wbgpu.bench.limits import Limits
from wbgpu.bench.serve import open_bench

POSTGRES = "WBGPU_TEST_POSTGRES_URL"


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path: Path, monkeypatch) -> Iterator[str]:
    """A store that nobody has used: a file, and a database of a real PostgreSQL."""
    if request.param == "sqlite":
        yield str(tmp_path / "bench.sqlite")
        return
    monkeypatch.setenv("WBGPU_BENCH_SECRET", "5a" * 32)
    with postgres_database() as url:
        yield url


class postgres_database:
    """A database of its own on the server that the environment names."""

    def __init__(self) -> None:
        if POSTGRES not in os.environ:
            _skip(
                f"there is no PostgreSQL: export {POSTGRES}=$(scripts/start_test_postgres FOLDER)",
                "WBGPU_REQUIRE_POSTGRES",
            )
        self._server = os.environ[POSTGRES]
        self._name = f"wbgpu_{secrets.token_hex(6)}"

    def __enter__(self) -> str:
        self._do(f"CREATE DATABASE {self._name}")
        return f"{self._server.rpartition('/')[0]}/{self._name}"

    def __exit__(self, *error: object) -> None:
        self._do(f"DROP DATABASE {self._name} WITH (FORCE)")

    def _do(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture
def open_at() -> Iterator[Callable]:
    """Opens benches and closes their stores in the end."""
    opened = []

    def open_(location, worlds=None, *, paired_episodes=False, **limits):
        bench = open_bench(str(location), worlds, Limits(**limits), paired_episodes=paired_episodes)
        opened.append(bench)
        return bench

    yield open_
    for bench in opened:
        bench.store.close()


@pytest.fixture
def bench(open_at, tmp_path):
    """A bench on a new SQLite file."""
    return open_at(tmp_path / "bench.sqlite")


@pytest.fixture
def server(bench) -> Iterator[Server]:
    """A bench on a new SQLite file, listening on loopback."""
    with serving(bench) as running:
        yield running
