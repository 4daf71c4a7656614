"""Tries after lost requests and lost answers, on a transport that loses what it is told to."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest

from tests.bench.serving import serving, uniform
from wbgpu.bench import client as client_module
from wbgpu.bench.client import AsyncBenchClient, BenchClient
from wbgpu.bench.problems import RefusedError, UnreachableError
from wbgpu.errors import ConfigurationError

UNIFORM = [[1 / k] * k for k in (5, 2, 2, 6, 2)]
"""A forecast of block_to_bowl."""


class Losing(httpx.BaseTransport):
    """Sends on to a server; each entry of `plan` says what becomes of one request.

    ``ok``: nothing; ``lost``: it never arrives; ``unanswered``: it arrives, its answer is lost; a
    number: it does not arrive and a status comes back.
    """

    def __init__(self, plan=()):
        self._http = httpx.HTTPTransport()
        self.plan = list(plan)
        self.num_sent = 0

    def handle_request(self, request):
        fate = self.plan.pop(0) if self.plan else "ok"
        if fate == "lost":
            raise httpx.ConnectError("no route", request=request)
        if isinstance(fate, int):
            return httpx.Response(fate, headers={"Retry-After": "1"}, json={}, request=request)
        self.num_sent += 1
        response = self._http.handle_request(request)
        if fate == "unanswered":
            response.read()
            raise httpx.ReadError("connection reset", request=request)
        return response

    def close(self):
        self._http.close()


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """How long was waited; nobody waits."""
    waited = []
    # Not time.sleep itself, with which the server's thread waits for its start.
    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def play(server):
    """A client with a session, and what becomes of its requests."""
    transport = Losing()
    with BenchClient(server.url, transport=transport, num_tries=4) as client:
        schema = client.schema("block_to_bowl")
        session_id = client.create_session("block_to_bowl", 7, max_steps=3)["session_id"]
        yield client, schema, session_id, transport


def test_a_session_is_played_and_scored(play):
    client, schema, session_id, _ = play
    for step in range(3):
        assert client.observe(session_id)["step"] == step
        assert client.predict(session_id, step, schema, UNIFORM)["acknowledged"]
    assert client.result(session_id)["num_steps"] == 3


@pytest.mark.parametrize(
    "plan", [["lost"], ["unanswered"], ["unanswered", "unanswered"], [503], [429], [502, "lost"]]
)
def test_a_prediction_that_is_tried_again_counts_once(play, server, plan):
    client, schema, session_id, transport = play
    transport.plan[:] = plan
    assert client.predict(session_id, 0, schema, UNIFORM)["acknowledged"]
    assert client.observe(session_id)["step"] == 1
    assert len(server.bench.store.predictions(session_id)) == 1


def test_the_last_step_can_be_tried_again_too(play):
    client, schema, session_id, transport = play
    for step in range(3):
        transport.plan[:] = ["unanswered"]
        assert client.predict(session_id, step, schema, UNIFORM)["acknowledged"]
    assert client.result(session_id)["num_steps"] == 3


def test_a_step_that_is_predicted_again_on_purpose_is_refused(play):
    """Only after a lost answer may the client take `already predicted` for its own prediction."""
    client, schema, session_id, transport = play
    client.predict(session_id, 0, schema, UNIFORM)
    for plan in ([], ["lost"], [429]):
        transport.plan[:] = plan
        with pytest.raises(RefusedError) as raised:
            client.predict(session_id, 0, schema, UNIFORM)
        assert raised.value.kind == "step-already-predicted"
        assert raised.value.status == 409


def test_a_session_is_not_begun_twice(play, server):
    """Sessions whose answer was lost would fill up the number that a client may have."""
    client, _, _, transport = play
    ids = set()
    for plan in ([], ["lost"], ["unanswered", "unanswered"], [502, "unanswered"]):
        transport.plan[:] = plan
        ids.add(client.create_session("spectator", 1)["session_id"])
    with server.bench.store._engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT session_id FROM bench_sessions WHERE world = 'spectator'"
        ).all()
    assert {row[0] for row in rows} == ids
    assert len(rows) == len(ids) == 4


def test_it_gives_up_in_the_end(play, waits):
    client, _, session_id, transport = play
    waits.clear()
    transport.plan[:] = ["lost"] * 4
    with pytest.raises(UnreachableError, match="does not answer"):
        client.observe(session_id)
    assert waits == [0.0, 0.1, 0.2, 0.4]
    waits.clear()
    transport.plan[:] = [503] * 4
    with pytest.raises(UnreachableError, match="503"):
        client.observe(session_id)
    assert waits == [0.0, 1.0, 1.0, 1.0]


def test_a_limit_that_no_waiting_lifts_is_told_at_once(open_at, tmp_path, waits):
    with (
        serving(open_at(tmp_path / "small.sqlite", max_open_sessions=1)) as server,
        BenchClient(server.url) as client,
    ):
        client.create_session("spectator", 1)
        with pytest.raises(RefusedError, match="finish one first"):
            client.create_session("spectator", 1)
    assert waits == [0.0, 0.0]


def test_a_refusal_is_told_as_it_was(play):
    client, schema, session_id, _ = play
    with pytest.raises(RefusedError, match=r"sum to 0\.5") as raised:
        client.predict(session_id, 0, schema, [[0.1] * 5, *UNIFORM[1:]])
    assert raised.value.field == "prediction.per_variable[0][1].Categorical.probs"
    assert raised.value.status == 422
    with pytest.raises(RefusedError) as raised:
        client.result(session_id)
    assert raised.value.kind == "session-not-finished"


def test_what_no_server_would_take_is_not_sent(play, server):
    client, schema, session_id, transport = play
    sent = transport.num_sent
    with pytest.raises(ConfigurationError, match="finite"):
        client.predict(session_id, 0, schema, [[float("nan")] * 5, *UNIFORM[1:]])
    assert transport.num_sent == sent
    with pytest.raises(ConfigurationError, match="num_tries"):
        BenchClient(server.url, num_tries=0)
    with pytest.raises(ConfigurationError, match="has no world 'nowhere'"):
        client.schema("nowhere")


def test_what_is_no_bench_is_said_to_be_none():
    def website(request):
        return httpx.Response(200, text="<html>")

    with (
        BenchClient("http://x", transport=httpx.MockTransport(website)) as client,
        pytest.raises(UnreachableError, match="expected a JSON object of a bench"),
    ):
        client.worlds()


def test_many_sessions_are_played_side_by_side(server):
    async def one(client, schema, seed):
        made = await client.create_session("block_to_bowl", seed, max_steps=4)
        session_id = made["session_id"]
        while not (seen := await client.observe(session_id))["done"]:
            await client.predict(session_id, seen["step"], schema, UNIFORM)
        return await client.result(session_id)

    async def all_of_them():
        async with AsyncBenchClient(server.url) as client:
            schema = await client.schema("block_to_bowl")
            return await asyncio.gather(*(one(client, schema, seed) for seed in range(12)))

    results = asyncio.run(all_of_them())
    assert [result["seed"] for result in results] == list(range(12))
    assert {result["num_steps"] for result in results} == {4}


def test_the_async_client_tries_again_as_well(monkeypatch):
    statuses = [503, 200]

    def answer(request):
        status = statuses.pop(0)
        return httpx.Response(status, json={"worlds": []}, request=request)

    async def ask():
        async with AsyncBenchClient("http://x", transport=httpx.MockTransport(answer)) as client:
            return await client.worlds()

    assert asyncio.run(ask()) == {}
    assert statuses == []


def test_the_clients_methods_are_the_same():
    def methods(kind):
        return {name for name in vars(kind) if not name.startswith("_")}

    assert methods(BenchClient) == methods(AsyncBenchClient)


def test_the_client_imports_no_world_and_no_torch():
    """What it does not hold, it cannot be played with."""
    program = (
        "import sys, wbgpu.bench.client, wbgpu.bench.play, json; print(json.dumps([m for m in "
        "sys.modules if m.startswith(('wbgpu.worlds', 'torch', 'wbgpu.bench.', 'sqlalchemy'))]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert set(json.loads(done.stdout)) == {
        f"wbgpu.bench.{name}" for name in ("client", "play", "problems", "protocol")
    }


def test_uniform_of_these_tests_is_a_forecast(server):
    path = server.session()
    rows = uniform(server.get(f"{path}/observe"))["prediction"]["per_variable"]
    assert [row[1]["Categorical"]["probs"] for row in rows] == UNIFORM
