"""The bench over HTTP, listening on loopback."""

from __future__ import annotations

import json
import socket
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

    def unavailable(session_id):
        raise OperationalError("SELECT secret", {}, Exception("locked"))

    with monkeypatch.context() as broken:
        broken.setattr(server.bench.store, "session", unavailable)
        status, document, headers = server.call("GET", f"{path}/observe")
        assert (status, headers["Retry-After"]) == (503, "1")
        assert "secret" not in json.dumps(document)

    def fault(session_id):
        raise RuntimeError("the outcome was heads")

    with monkeypatch.context() as broken:
        broken.setattr(server.bench.store, "session", fault)
        status, document, _ = server.call("GET", f"{path}/observe")
        assert status == 500
        assert "heads" not in json.dumps(document)
    assert server.get(f"{path}/observe")["step"] == 0


def test_a_request_that_is_being_answered_is_finished_at_shutdown(bench, monkeypatch):
    begun, go_on, answers = threading.Event(), threading.Event(), []
    original = bench.store.session

    def slow(session_id):
        begun.set()
        go_on.wait(20)
        return original(session_id)

    with serving(bench) as server:
        path = server.session()
        monkeypatch.setattr(bench.store, "session", slow)
        asking = threading.Thread(
            target=lambda: answers.append(server.call("GET", f"{path}/observe"))
        )
        asking.start()
        begun.wait(20)
        threading.Timer(0.3, go_on.set).start()
    asking.join()
    assert answers[0][0] == 200
