"""The bench over HTTP, listening on loopback."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading

import pytest
from sqlalchemy.exc import OperationalError

from tests.bench.serving import serving, uniform


def test_health_worlds_and_document_answer(server):
    assert server.get("/healthz") == {"status": "ok"}
    assert len(server.get("/bench/worlds")["worlds"]) == 4
    assert "/bench/sessions" in server.get("/openapi.json")["paths"]


def test_a_session_is_played(server):
    path = server.session(max_steps=2)
    for step in range(2):
        seen = server.get(f"{path}/observe")
        assert seen["step"] == step
        status, answer, _ = server.call("POST", f"{path}/predict", uniform(seen))
        assert (status, answer["acknowledged"]) == (200, True)
    assert server.get(f"{path}/observe")["done"] is True
    assert server.get(f"{path}/result")["num_steps"] == 2


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/nothing", 404, "unknown-path"),
        ("GET", "/bench/sessions", 405, "method-not-allowed"),
        ("DELETE", "/bench/sessions/x/result", 405, "method-not-allowed"),
        # No redirect: its address would be the client's word for the server, and hold the id.
        ("GET", "/bench/sessions/x/result/", 404, "unknown-path"),
        ("GET", "//bench/sessions", 404, "unknown-path"),
        ("GET", "/bench/sessions/x/result", 404, "unknown-session"),
        (
            "GET",
            "/bench/sessions/%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00%00/observe",
            404,
            "unknown-session",
        ),
    ],
)
def test_what_is_refused_is_a_problem(server, method, path, status, kind):
    found, document, headers = server.call(method, path)
    assert found == status == document["status"]
    assert headers["Content-Type"] == "application/problem+json"
    assert document["type"] == f"urn:wbgpu:bench:{kind}"
    assert document["title"] == kind.replace("-", " ")


def test_only_json_is_taken(server):
    """A web page that somebody is shown could otherwise post to a bench on their machine."""
    raw = json.dumps({"env": "spectator", "seed": 1}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        status, document, _ = server.call(
            "POST", "/bench/sessions", raw=raw, headers={"Content-Type": kind}
        )
        assert (status, document["field"]) == (415, "Content-Type")
    kind = {"Content-Type": "application/json; charset=utf-8"}
    assert server.call("POST", "/bench/sessions", raw=raw, headers=kind)[0] == 201


def test_nothing_is_cached(server):
    _, _, headers = server.call("GET", f"{server.session()}/observe")
    assert headers["Cache-Control"] == "no-store"
    assert "server" not in headers or "uvicorn" not in headers["server"]


def test_a_large_body_is_refused_while_it_comes(open_at, tmp_path):
    with serving(open_at(tmp_path / "b.sqlite", max_body_bytes=1000)) as server:
        assert server.call("POST", "/bench/sessions", raw=b"x" * 1001)[0] == 413
        # Before it comes, where its length is told.
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(
                b"POST /bench/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: 99999999999999\r\n\r\n{"
            )
            assert b" 413 " in connection.recv(100)
        # Without a length, and without an end.
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(
                b"POST /bench/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n" + b"400\r\n" + b"x" * 0x400 + b"\r\n"
            )
            assert b" 413 " in connection.recv(100)


def test_a_client_that_goes_away_breaks_nothing(server):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            b"POST /bench/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
    assert server.get("/healthz") == {"status": "ok"}


def test_a_client_that_asks_too_often_is_told_to_wait(open_at, tmp_path):
    with serving(open_at(tmp_path / "b.sqlite", max_requests_per_second=3)) as server:
        answers = [server.call("GET", "/bench/worlds") for _ in range(20)]
        statuses = {status for status, _, _ in answers}
        assert statuses == {200, 429}
        headers = next(headers for status, _, headers in answers if status == 429)
        assert headers["Retry-After"] == "1"
        # Whoever watches the server is not a client.
        assert server.get("/healthz") == {"status": "ok"}


def test_a_store_that_does_not_answer_is_503_and_a_fault_says_nothing(server, monkeypatch):
    path = server.session()

    def unavailable(session_id, now):
        raise OperationalError("SELECT secret", {}, Exception("locked"))

    with monkeypatch.context() as broken:
        broken.setattr(server.bench.store, "observe", unavailable)
        status, document, headers = server.call("GET", f"{path}/observe")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert "secret" not in json.dumps(document)

    def fault(session_id, now):
        raise RuntimeError("the outcome was heads")

    with monkeypatch.context() as broken:
        broken.setattr(server.bench.store, "observe", fault)
        status, document, _ = server.call("GET", f"{path}/observe")
        assert status == 500
        assert "heads" not in json.dumps(document)
    assert server.get(f"{path}/observe")["step"] == 0


@pytest.mark.parametrize("harm", ["locked", "read-only", "full"])
def test_a_store_that_cannot_be_written_loses_nothing(open_at, tmp_path, monkeypatch, harm):
    """Clients are told to try again, and it goes on where it was when the store can be written."""
    monkeypatch.setattr("wbgpu.bench.store._LOCK_SECONDS", 0.1)
    path = tmp_path / "b.sqlite"
    new = {"env": "spectator", "seed": 1}

    def pragma(text):
        # One request at a time needs one connection: the server's next one has it as well.
        with server.bench.store._engine.connect() as connection:
            result = connection.exec_driver_sql(f"PRAGMA {text}")
            return result.scalar() if result.returns_rows else None

    with serving(open_at(path)) as server:
        session = server.session()
        observation = server.get(f"{session}/observe")
        other = sqlite3.connect(path)
        if harm == "locked":
            other.execute("BEGIN IMMEDIATE")
        elif harm == "read-only":
            pragma("query_only = 1")
        else:
            pragma(f"max_page_count = {pragma('page_count')}")
            while server.call("POST", "/bench/sessions", new)[0] == 201:
                pass
        status, document, headers = server.call("POST", "/bench/sessions", new)
        assert (status, document["title"]) == (503, "store unavailable")
        assert headers["Retry-After"] == "1"
        if harm != "full":
            # Of a full one, pages that are not full can still be written.
            assert server.call("POST", f"{session}/predict", uniform(observation))[0] == 503
        assert len(server.get("/bench/leaderboard")["worlds"]) == 4
        other.close()
        pragma("query_only = 0")
        pragma("max_page_count = 1000000")
        assert server.call("POST", f"{session}/predict", uniform(observation))[0] == 200
        assert server.get(f"{session}/observe")["step"] == 1
        assert server.call("POST", "/bench/sessions", new)[0] == 201


def test_a_request_that_is_being_answered_is_finished_at_shutdown(bench, monkeypatch):
    begun, go_on, answers = threading.Event(), threading.Event(), []
    original = bench.store.observe

    def slow(session_id, now):
        begun.set()
        go_on.wait(20)
        return original(session_id, now)

    with serving(bench) as server:
        path = server.session()
        monkeypatch.setattr(bench.store, "observe", slow)
        asking = threading.Thread(
            target=lambda: answers.append(server.call("GET", f"{path}/observe"))
        )
        asking.start()
        begun.wait(20)
        threading.Timer(0.3, go_on.set).start()
    asking.join()
    assert answers[0][0] == 200
