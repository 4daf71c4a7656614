"""Sessions without HTTP."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from tests.bench.serving import uniform
from tests.bench.worlds import coin_file
from wbgpu.bench.answer_key import AnswerKey, unpacked
from wbgpu.bench.limits import Limits
from wbgpu.bench.problems import RefusedError
from wbgpu.bench.secret import Secret
from wbgpu.bench.sessions import Bench
from wbgpu.errors import ConfigurationError, InputError
from wbgpu.worlds import load_world


def begin(bench, client="me", **fields):
    body = {"env": "block_to_bowl", "seed": 7, "max_steps": 3, **fields}
    return bench.create(json.dumps(body).encode(), client)["session_id"]


def predict(bench, session, step=None, observe=True):
    seen = bench.observe(session) if observe else {"prediction_schema": SCHEMA}
    return bench.predict(session, json.dumps(uniform(seen, step)).encode())


SCHEMA = [["gripper", 5], ["height", 2], ["fingers", 2], ["block", 6], ["pose", 2]]


def play(bench, session):
    """All states, the last one included."""
    states = []
    while True:
        seen = bench.observe(session)
        states.append(tuple(seen["observation"].values()))
        if seen["done"]:
            return states
        bench.predict(session, json.dumps(uniform(seen)).encode())


def refused(call, *arguments, **keywords):
    with pytest.raises(RefusedError) as raised:
        call(*arguments, **keywords)
    return raised.value.status, raised.value.kind


def test_a_session_is_what_was_asked_for(bench):
    body = {"env": "block_to_bowl", "seed": 2**64 - 1, "max_steps": 9, "name": "me"}
    session = bench.create(json.dumps(body).encode(), "1.2.3.4")
    assert session["max_steps"] == 9
    assert session["seed"] == 2**64 - 1
    assert session["prediction_schema"] == SCHEMA
    assert session["world_sha256"] == load_world("block_to_bowl").sha256
    seen = bench.observe(session["session_id"])
    assert (seen["done"], seen["step"]) == (False, 0)
    assert seen["action"] in load_world("block_to_bowl").schema.actions
    assert [*seen["observation"]] == [name for name, _ in SCHEMA]
    assert len(session["session_id"]) == 32
    del body["max_steps"]
    assert bench.create(json.dumps(body).encode(), "1.2.3.4")["max_steps"] == 1000


def test_a_request_that_is_repeated_begins_one_session(bench):
    """Its answer may have been lost; another client, or another request, has a session of its own
    under the same key."""
    key = "k" * 22
    first = begin(bench, idempotency_key=key)
    predict(bench, first)
    assert begin(bench, idempotency_key=key) == first
    assert bench.observe(first)["step"] == 1
    others = [
        begin(bench, idempotency_key=key, client="other"),
        begin(bench, idempotency_key=key, seed=8),
        begin(bench, idempotency_key="l" * 22),
        begin(bench),
        begin(bench),
    ]
    assert len({first, *others}) == 6
    for bad in ("k" * 21, "k" * 65, "k" * 21 + "é", 7):
        assert refused(begin, bench, idempotency_key=bad) == (422, "invalid-field")


def test_a_prediction_that_follows_another_server_counts(bench, open_at, tmp_path):
    """Behind a proxy that sends requests to two servers in turn, whatever each remembers."""
    other = open_at(tmp_path / "bench.sqlite")
    session = begin(bench, max_steps=4)
    bench.observe(session)
    predict(other, session)
    other.observe(session)
    assert predict(bench, session, observe=False)["step"] == 1
    bench.observe(session)
    predict(other, session)
    assert refused(predict, bench, session, observe=False) == (409, "step-not-observed")
    assert predict(bench, session, step=3, observe=False)["step"] == 3
    assert bench.observe(session)["done"]
    assert refused(predict, other, session, step=3) == (409, "step-already-predicted")


def test_what_is_remembered_is_bounded_and_nothing_depends_on_it(bench, monkeypatch):
    """Sessions that are observed and left would fill the memory."""
    monkeypatch.setattr("wbgpu.bench.sessions._NUM_REMEMBERED", 3)
    sessions = [begin(bench) for _ in range(8)]
    for session in sessions:
        bench.observe(session)
        assert len(bench._asked) <= 3
    for session in sessions:
        assert predict(bench, session, observe=False)["step"] == 0


def test_a_prediction_is_acknowledged_and_nothing_more(bench):
    session = begin(bench)
    assert predict(bench, session) == {"acknowledged": True, "step": 0, "practice": False}


def test_observing_changes_nothing(bench):
    session = begin(bench)
    assert bench.observe(session) == bench.observe(session)


def test_a_budget_is_within_the_worlds(bench, open_at, tmp_path):
    assert refused(begin, bench, max_steps=1001) == (422, "invalid-field")
    strict = open_at(tmp_path / "strict.sqlite", min_steps=50)
    assert refused(begin, strict, max_steps=49) == (422, "invalid-field")
    begin(strict, max_steps=49, practice=True)
    assert refused(begin, bench, env="nowhere") == (404, "unknown-world")


def test_a_step_without_a_name_counts_once_it_was_observed(bench):
    """Sent twice, a prediction must not be counted for the next step as well."""
    session = begin(bench)
    assert refused(predict, bench, session, observe=False) == (409, "step-not-observed")
    predict(bench, session)
    assert refused(predict, bench, session, observe=False) == (409, "step-not-observed")


def test_a_step_with_a_name_counts_once(bench):
    session = begin(bench)
    predict(bench, session, step=0, observe=False)
    assert refused(predict, bench, session, step=0) == (409, "step-already-predicted")
    assert refused(predict, bench, session, step=2) == (409, "step-not-due")
    predict(bench, session, step=1)
    predict(bench, session, step=2)
    assert refused(predict, bench, session, step=2) == (409, "step-already-predicted")
    assert refused(predict, bench, session, step=3) == (409, "session-finished")
    assert refused(predict, bench, session) == (409, "session-finished")
    assert len(bench.store.predictions(session)) == 3


def test_the_result_comes_after_the_last_step(bench):
    session = begin(bench)
    for _ in range(3):
        assert refused(bench.result, session) == (409, "session-not-finished")
        predict(bench, session)
    result = bench.result(session)
    assert result["num_steps"] == 3
    assert result["practice"] is False
    assert bench.result(session) == result
    assert "session_id" not in result


def test_scored_sessions_with_one_seed_are_different_episodes(bench):
    """Who has played a seed would play it again with foresight."""
    assert play(bench, begin(bench, max_steps=40)) != play(bench, begin(bench, max_steps=40))


def test_practice_with_one_seed_is_one_episode_but_none_that_is_scored(open_at, tmp_path):
    bench = open_at(tmp_path / "bench.sqlite", paired_episodes=True)
    first, second = (play(bench, begin(bench, max_steps=40, practice=True)) for _ in range(2))
    assert first == second
    scored, again = (play(bench, begin(bench, max_steps=40)) for _ in range(2))
    assert scored == again
    assert scored != first


def test_practice_tells_outcome_and_regret_and_says_so_everywhere(bench):
    session = begin(bench, practice=True)
    total = 0.0
    for _ in range(3):
        assert bench.observe(session)["practice"] is True
        answer = predict(bench, session)
        assert answer["practice"] is True
        assert answer["outcome"] == bench.observe(session)["observation"]
        total += answer["cumulative_regret_nats"]
    result = bench.result(session)
    assert result["practice"] is True
    assert result["cumulative_regret_nats"] == pytest.approx(total, abs=1e-12)


def test_a_forecast_that_ruled_out_what_happened_is_infinite_and_counted(open_at, tmp_path):
    bench = open_at(tmp_path / "bench.sqlite", [coin_file(tmp_path)])
    session = begin(bench, env="coin", max_steps=60)
    for step in range(60):
        probs = [1.0, 0.0] if step % 2 else [0.5, 0.5]
        row = ["coin", {"Categorical": {"outcomes": ["tails", "heads"], "probs": probs}}]
        body = {"step": step, "prediction": {"per_variable": [row]}}
        bench.predict(session, json.dumps(body).encode())
    result = bench.result(session)
    heads = sum(json.loads(p["outcome"]) == [1] for p in bench.store.predictions(session)[1::2])
    assert heads > 0
    assert result["num_infinite"] == heads
    assert result["num_infinite_expected"] == 30
    assert result["cumulative_regret_nats"] is None
    assert result["expected_regret_nats"] is None
    assert result["per_step"]["regret_nats"]["mean"] is None
    assert np.isfinite(result["finite_regret_nats"])
    json.dumps(result, allow_nan=False)


def test_a_session_expires_unfinished_but_a_result_stays(bench):
    now = 1000.0
    limits = Limits(session_seconds=60)
    late = Bench(bench.store, bench.key, limits, clock=lambda: now)
    session, finished = begin(late), begin(late)
    play(late, finished)
    now = 1059.0
    late.observe(session)
    now = 1060.0
    assert refused(late.observe, session) == (410, "session-expired")
    assert refused(predict, late, session, step=0, observe=False) == (410, "session-expired")
    assert late.result(finished)["num_steps"] == 3
    assert late.observe(finished)["done"]


def test_open_sessions_of_a_client_are_limited(open_at, tmp_path):
    bench = open_at(tmp_path / "bench.sqlite", max_open_sessions=2)
    first = begin(bench)
    begin(bench)
    assert refused(begin, bench) == (429, "too-many-sessions")
    begin(bench, client="other")
    play(bench, first)
    begin(bench)


@pytest.mark.parametrize("name", ["x" * 32, "", "../etc", "a\x00" * 10, "é" * 20, "x" * 4000])
def test_no_other_name_opens_a_session(bench, name):
    begin(bench)
    for call in (bench.observe, bench.result, lambda s: bench.predict(s, b"{}")):
        assert refused(call, name) == (404, "unknown-session")


def test_a_world_that_was_changed_ends_its_sessions(open_at, tmp_path):
    """Its forecasts would be scored by another answer key."""
    path = tmp_path / "store.sqlite"
    bench = open_at(path, [coin_file(tmp_path)])
    session = begin(bench, env="coin")
    (tmp_path / "coin.yaml").write_text(
        (tmp_path / "coin.yaml").read_text().replace("0.8", "0.80 ")
    )
    play(open_at(path, [str(tmp_path / "coin.yaml")]), session)
    session = begin(bench, env="coin")
    changed = (tmp_path / "coin.yaml").read_text().replace("0.80 ", "0.7").replace("0.2", "0.3")
    (tmp_path / "coin.yaml").write_text(changed)
    other = open_at(path, [str(tmp_path / "coin.yaml")])
    assert refused(other.observe, session) == (409, "world-changed")


def test_a_store_goes_on_with_its_own_secret_only(open_at, tmp_path):
    path = tmp_path / "bench.sqlite"
    bench = open_at(path)
    states = play(bench, begin(bench, practice=True, max_steps=30))
    assert play(open_at(path), begin(open_at(path), practice=True, max_steps=30)) == states
    (tmp_path / "bench.sqlite.secret").unlink()
    with pytest.raises(ConfigurationError, match="another secret"):
        open_at(path)


def test_another_secret_is_another_episode():
    world = load_world("block_to_bowl")
    firsts = []
    for byte in (b"1", b"2"):
        key = AnswerKey([world], Secret(byte * 32))
        question, states = key.begin(world, 7, "by_seed"), []
        for step in range(30):
            question = key.step(world, 7, "by_seed", question, step)
            states.append(question.state)
        firsts.append(states)
    assert firsts[0] != firsts[1]


def test_logs_hold_neither_what_opens_a_session_nor_the_truth(bench, caplog):
    with caplog.at_level(logging.DEBUG):
        session = begin(bench, seed=123456789)
        play(bench, session)
    text = " ".join(str(vars(record)) for record in caplog.records)
    assert "session finished" in text
    for hidden in (session, "observation", "state", "outcome", "123456789"):
        assert hidden not in text


def test_forecasts_are_kept_bit_for_bit(bench):
    session = begin(bench)
    predict(bench, session)
    (row,) = bench.store.predictions(session)
    rows = unpacked([row["forecast"]], load_world("block_to_bowl").schema)
    assert [r.tolist() for r in rows] == [[[1 / k] * k] for _, k in SCHEMA]


def test_a_world_is_given_once(open_at, tmp_path):
    with pytest.raises(ConfigurationError, match="twice"):
        open_at(tmp_path / "bench.sqlite", ["spectator", "spectator"])
    with pytest.raises(ConfigurationError, match="unknown world"):
        open_at(tmp_path / "bench.sqlite", ["spectatr"])


def test_the_secret_beside_the_store_is_checked(open_at, tmp_path):
    open_at(tmp_path / "bench.sqlite")
    (tmp_path / "bench.sqlite.secret").chmod(0o644)
    with pytest.raises(InputError, match="others may read"):
        open_at(tmp_path / "bench.sqlite")


def test_worlds_are_listed_with_their_names(bench):
    worlds = {world["name"]: world for world in bench.worlds()}
    assert set(worlds) == {"block_to_bowl", "markov_chain", "slippery_grid", "spectator"}
    assert worlds["markov_chain"]["max_steps"] == 1000
    assert "rules" not in json.dumps(worlds)
