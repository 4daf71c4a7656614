"""Attempts to see the truth, or to be scored on it; each fails the build if it succeeds."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from tests.bench.serving import serving, uniform
from tests.bench.worlds import coin_file
from wbgpu.bench.sessions import Bench
from wbgpu.worlds import World, WorldBatch, load_world

NUM_THREADS = 200
NUM_CALLS = 2000
FALSE_ALARM = 1e-4


@pytest.mark.parametrize("names_its_step", [True, False])
def test_of_many_predictions_that_race_on_one_step_one_is_scored(server, names_its_step):
    path = server.session(max_steps=5)
    body = uniform(server.get(f"{path}/observe"), 0 if names_its_step else None)
    raw = json.dumps(body).encode()
    gate = threading.Barrier(NUM_THREADS)

    def race(_):
        connection = server.connection()
        connection.connect()
        gate.wait()
        connection.request("POST", f"{path}/predict", raw, {"Content-Type": "application/json"})
        response = connection.getresponse()
        document = json.loads(response.read())
        connection.close()
        return response.status, document.get("type", "")

    with ThreadPoolExecutor(NUM_THREADS) as threads:
        answers = list(threads.map(race, range(NUM_THREADS)))
    statuses = [status for status, _ in answers]
    assert statuses.count(200) == 1
    assert statuses.count(409) == NUM_THREADS - 1
    assert server.get(f"{path}/observe")["step"] == 1
    assert len(server.bench.store.predictions(path.rpartition("/")[2])) == 1


def test_a_prediction_that_is_sent_twice_is_scored_once(server):
    path = server.session()
    body = uniform(server.get(f"{path}/observe"))
    statuses = [server.call("POST", f"{path}/predict", body)[0] for _ in range(3)]
    assert statuses == [200, 409, 409]
    assert server.get(f"{path}/observe")["step"] == 1


def test_the_result_is_hidden_until_the_end(server):
    """The difference of two partial sums is what the answer key says about one outcome."""
    path = server.session(max_steps=3)
    bodies = []
    for step in range(3):
        status, document, headers = server.call("GET", f"{path}/result")
        assert status == 409
        bodies.append((document["detail"].replace(str(step), "N"), sorted(headers.keys())))
        for key in ("regret", "nats", "loss"):
            assert key not in json.dumps(document)
        server.call("POST", f"{path}/predict", uniform(server.get(f"{path}/observe")))
    assert len({str(body) for body in bodies}) == 1
    assert server.call("GET", f"{path}/result")[0] == 200


def test_answers_to_predictions_do_not_depend_on_what_happened(server):
    """Compared byte by byte over many steps, headers included, but for the step and the date."""
    path = server.session(max_steps=100)
    seen, answers = set(), set()
    for step in range(100):
        observation = server.get(f"{path}/observe")
        seen.add(str(observation["observation"]))
        _, document, headers = server.call("POST", f"{path}/predict", uniform(observation))
        assert document.pop("step") == step
        kept = {k: v for k, v in headers.items() if k.lower() not in ("date", "content-length")}
        answers.add(json.dumps([document, kept]))
    assert len(seen) > 10
    assert len(answers) == 1


def test_a_refused_prediction_is_not_scored_and_tells_nothing(server):
    """Otherwise a client could ask for the outcome before it commits itself."""
    path = server.session()
    observation = server.get(f"{path}/observe")
    for raw in HOSTILE:
        status, document, _ = server.call("POST", f"{path}/predict", raw=raw)
        assert 400 <= status < 500, raw[:60]
        assert {"type", "title", "status", "detail", "field"} == set(document)
    assert server.get(f"{path}/observe") == observation
    assert server.bench.store.predictions(path.rpartition("/")[2]) == []
    assert server.call("POST", f"{path}/predict", uniform(observation))[0] == 200


def _hostile():
    k = {"gripper": 5, "height": 2, "fingers": 2, "block": 6, "pose": 2}
    good = json.dumps(uniform({"prediction_schema": list(k.items())}))
    negative = good.replace("[0.5, 0.5]", "[1.5, -0.5]", 1)
    yield from (
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b"\xff\xfe\x00",
        good.replace("0.5", "NaN").encode(),
        good.replace("0.5", "Infinity").encode(),
        good.replace("0.5", "-Infinity").encode(),
        good.replace("0.5", "1e999").encode(),
        good.replace("0.5", "9" * 5000).encode(),
        good.replace("0.5", '"0.5"').encode(),
        good.replace("0.5", "true").encode(),
        good.replace("0.5", "null").encode(),
        good.replace("[0.5, 0.5]", "[0.5, 0.499]", 1).encode(),
        good.replace("[0.5, 0.5]", "[0.5]", 1).encode(),
        good.replace("[0.5, 0.5]", "[0.5, 0.25, 0.25]", 1).encode(),
        good.replace("[0.5, 0.5]", "[]", 1).encode(),
        good.replace('["o0", "o1"]', '["up", "sideways"]', 1).encode(),
        good.replace("gripper", "grippr").encode(),
        good.replace("gripper", "\\ud800").encode(),
        good.replace("gripper", "block").encode(),
        good.replace('"prediction"', '"prediction": {}, "prediction"').encode(),
        good.replace('{"prediction"', '{"step": -1, "prediction"').encode(),
        good.replace('{"prediction"', '{"step": 1e3, "prediction"').encode(),
        negative.encode(),
        b"[" * 200_000,
        b'{"prediction":' * 50_000,
        b'{"prediction": {"per_variable": ' + b"[" * 500 + b"]" * 500 + b"}}",
        (good + " " * 10_000_000).encode(),
    )


HOSTILE = tuple(_hostile())


def test_the_public_world_and_the_seed_do_not_replay_an_episode(server):
    """Neither as the file alone, nor with keys that a client could guess."""
    world = load_world("block_to_bowl")
    path = server.session(max_steps=60, seed=11)
    states, actions = _episode(server, path, 60)
    session_id = path.rpartition("/")[2].encode()
    for key in (None, bytes(32), session_id, b"block_to_bowl".ljust(32, b"\0")):
        batch = WorldBatch(world, [11], key=key)
        hits = 0
        for step, (state, action, after) in enumerate(zip(states, actions, states[1:])):
            batch.set_state(np.array([state]), step)
            hits += batch.step(np.array([world.action_index(action)]))[0].tolist() == after
        assert hits < 60


def test_a_seed_that_was_played_before_is_another_episode(server):
    first = _episode(server, server.session(max_steps=60, seed=11), 60)
    second = _episode(server, server.session(max_steps=60, seed=11), 60)
    practice = _episode(server, server.session(max_steps=60, seed=11, practice=True), 60)
    assert first != second
    assert practice not in (first, second)


def _episode(server, path, num_steps):
    states, actions = [], []
    for step in range(num_steps + 1):
        seen = server.get(f"{path}/observe")
        states.append(list(seen["observation"].values()))
        actions.append(seen["action"])
        if step < num_steps:
            server.call("POST", f"{path}/predict", uniform(seen))
    return states, actions


def test_anothers_session_is_not_found_by_guessing(server):
    """Ids are 192 random bits; near misses are answered as what never was."""
    path = server.session()
    session_id = path.rpartition("/")[2]
    others = {server.session().rpartition("/")[2] for _ in range(50)}
    assert len(others | {session_id}) == 51
    swapped = session_id[:-1] + ("A" if session_id[-1] != "A" else "B")
    refusals = set()
    for guess in (swapped, session_id.swapcase(), session_id[:-1], "A" * 32, session_id + "A"):
        for method, verb in (("GET", "observe"), ("GET", "result"), ("POST", "predict")):
            body = {"prediction": {}} if method == "POST" else None
            status, document, _ = server.call(method, f"/bench/sessions/{guess}/{verb}", body)
            assert status == 404
            refusals.add(json.dumps(document))
    assert len(refusals) == 1


def test_a_client_does_not_pass_for_another(open_at, tmp_path):
    with serving(open_at(tmp_path / "b.sqlite", max_open_sessions=1)) as server:
        server.session()
        body = {"env": "spectator", "seed": 1}
        for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
            forged = {header: "for=10.9.8.7" if header == "Forwarded" else "10.9.8.7"}
            assert server.call("POST", "/bench/sessions", body, headers=forged)[0] == 429


def timings(server):
    """Seconds of each prediction, and what happened."""
    path = server.session(env="coin", max_steps=NUM_CALLS)
    connection = server.connection()
    seconds = []
    for step in range(NUM_CALLS):
        row = ["coin", {"Categorical": {"outcomes": ["tails", "heads"], "probs": [0.8, 0.2]}}]
        raw = json.dumps({"step": step, "prediction": {"per_variable": [row]}})
        start = time.perf_counter()
        connection.request("POST", f"{path}/predict", raw, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        seconds.append(time.perf_counter() - start)
        assert response.status == 200
    connection.close()
    stored = server.bench.store.predictions(path.rpartition("/")[2])
    return np.array(seconds), np.array([json.loads(p["outcome"])[0] for p in stored])


def probability_of_no_difference(server):
    """Of ranks: a few calls that the machine held up weigh no more than others. Outcomes are drawn
    independently of each other, so that a slow minute of the machine meets both kinds alike."""
    seconds, outcomes = timings(server)
    assert 250 < outcomes.sum() < 550
    return mannwhitneyu(seconds[outcomes == 1], seconds[outcomes == 0]).pvalue


def test_timing_does_not_tell_likely_outcomes_from_unlikely_ones(open_at, tmp_path):
    with serving(open_at(tmp_path / "b.sqlite", [coin_file(tmp_path)])) as server:
        assert probability_of_no_difference(server) > FALSE_ALARM


def test_a_leak_in_timing_would_be_found(open_at, tmp_path, monkeypatch):
    """The test above is worth nothing if it finds no leak where one is."""
    predict = Bench.predict

    def leaky(self, session_id, raw):
        answer = predict(self, session_id, raw)
        if json.loads(self.store.session(session_id)["state"]) == [1]:
            time.sleep(0.0005)
        return answer

    monkeypatch.setattr(Bench, "predict", leaky)
    with serving(open_at(tmp_path / "b.sqlite", [coin_file(tmp_path)])) as server:
        assert probability_of_no_difference(server) < FALSE_ALARM


def test_what_a_world_tells_in_public_is_names(server):
    """A world that is not shipped has its probabilities on the server only."""
    text = json.dumps(server.get("/bench/worlds"))
    peeked = World(load_world("block_to_bowl"), seed=0).peek("move_left")
    for distribution in peeked.values():
        for probability in distribution.probabilities:
            assert probability in (0.0, 1.0) or str(probability) not in text
