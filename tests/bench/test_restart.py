"""Killed in the middle of many sessions, and started again on the same store."""

from __future__ import annotations

import itertools
import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bench.serving import ServerProcess
from wbgpu.bench.answer_key import score
from wbgpu.bench.client import BenchClient
from wbgpu.bench.limits import Limits
from wbgpu.bench.serve import open_bench
from wbgpu.worlds import load_world

NUM_SESSIONS = 50
NUM_STEPS = 20
WORLD = "slippery_grid"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_is_stopped_at_work_loses_nothing(location, tmp_path, how):
    log = tmp_path / "log"
    process = ServerProcess(location, log)
    acknowledged, lock, enough = {}, threading.Lock(), threading.Event()

    def play(number):
        with BenchClient(process.server.url) as client:
            schema = client.schema(WORLD)
            made = client.create_session(WORLD, number, max_steps=NUM_STEPS, name=str(number))
            session_id = made["session_id"]
            for step in range(NUM_STEPS):
                assert client.observe(session_id)["step"] == step
                # Every forecast is one that is made once.
                share = (1 + number * NUM_STEPS + step) / (2 + NUM_SESSIONS * NUM_STEPS)
                rows = [
                    [share] + [(1 - share) / (v.num_outcomes - 1)] * (v.num_outcomes - 1)
                    for v in schema.variables
                ]
                client.predict(session_id, step, schema, rows)
                with lock:
                    acknowledged[session_id, step] = share
                    if len(acknowledged) > NUM_SESSIONS * NUM_STEPS // 3:
                        enough.set()
            assert client.observe(session_id)["done"]
            return session_id, client.result(session_id)

    with ThreadPoolExecutor(NUM_SESSIONS) as threads:
        playing = [threads.submit(play, number) for number in range(NUM_SESSIONS)]
        assert enough.wait(120)
        code = process.stop(how)
        assert code == (0 if how == signal.SIGTERM else -how)
        with lock:
            before = dict(acknowledged)
        process = ServerProcess(location, log, port=process.server.port)
        try:
            results = dict(future.result() for future in playing)
        finally:
            code = process.stop(signal.SIGTERM)
    assert code == 0
    assert NUM_SESSIONS * NUM_STEPS // 3 < len(before) < NUM_SESSIONS * NUM_STEPS
    assert len(acknowledged) == NUM_SESSIONS * NUM_STEPS
    assert "Traceback" not in log.read_text()

    bench = open_bench(location, [WORLD], Limits())
    world = load_world(WORLD)
    for session_id, result in results.items():
        steps = bench.steps(bench.store.session(session_id))
        assert len(steps) == NUM_STEPS
        firsts = [float(memoryview(step.forecast).cast("d")[0]) for step in steps]
        assert firsts == [acknowledged[session_id, step] for step in range(NUM_STEPS)]
        assert {key: result[key] for key in score(world, steps)} == score(world, steps)
        for step, after in itertools.pairwise(steps):
            assert step.outcome == after.state
    bench.store.close()


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_server_that_is_told_to_stop_ends_well_and_logs_json(tmp_path, how, code):
    log = tmp_path / "log"
    process = ServerProcess(str(tmp_path / "bench.sqlite"), log)
    process.server.session()
    assert process.stop(how) == code
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {"session begun"} <= {line["message"] for line in lines}
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    assert "Traceback" not in log.read_text()
