"""The store, as SQLite file and in PostgreSQL."""

from __future__ import annotations

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.bench.conftest import postgres_database
from wbgpu.bench import tables
from wbgpu.bench.store import Prediction, Store
from wbgpu.errors import ConfigurationError, InputError

ID = "s" * 32
ROW = {
    "session_id": ID,
    "run_id": "r" * 16,
    "world": "toy",
    "world_sha256": "0" * 64,
    "seed": str(2**64 - 1),
    "draws": "practice",
    "max_steps": 2,
    "practice": False,
    "name": "né",
    "client": "10.0.0.1",
    "created_at": 1000.25,
    "expires_at": 2000.0,
    "finished_at": None,
    "step": 0,
    "observed_step": -1,
    "state": "[0, 1]",
    "action": 3,
}
PREDICTION = Prediction(
    session_id=ID,
    step=0,
    state="[0, 1]",
    action=3,
    forecast=b"\x00\xff",
    outcome="[1, 1]",
    next_action=2,
    at=1001.0,
    is_last=False,
    must_be_observed=False,
)


@pytest.fixture
def store(location):
    opened = Store(location)
    yield opened
    opened.close()


def test_a_session_comes_back_as_it_was(store, location):
    assert store.add_session(ROW, max_open=1)
    assert store.session(ID) == ROW
    assert store.run("r" * 16) == ROW
    assert store.session("x" * 32) is None
    again = Store(location)
    assert again.session(ID) == ROW
    again.close()


def test_a_session_that_is_added_again_stays_as_it_was(store):
    """Also when its client may have no more: it is none more."""
    store.add_session(ROW, max_open=1)
    store.add_prediction(PREDICTION)
    again = store.add_session({**ROW, "run_id": "x" * 16}, max_open=1)
    assert (again["run_id"], again["step"]) == ("r" * 16, 1)


def test_a_prediction_is_counted_once_and_moves_the_session(store):
    store.add_session(ROW, max_open=1)
    assert store.add_prediction(PREDICTION)
    assert not store.add_prediction(PREDICTION)
    last = replace(PREDICTION, step=1, at=1002.0, is_last=True)
    assert store.add_prediction(last)
    assert not store.add_prediction(replace(last, step=2))
    session = store.session(ID)
    assert (session["step"], session["state"], session["action"]) == (2, "[1, 1]", 2)
    assert session["finished_at"] == 1002.0
    rows = store.predictions(ID)
    assert [row["step"] for row in rows] == [0, 1]
    assert bytes(rows[0]["forecast"]) == b"\x00\xff"


def test_what_must_be_observed_counts_only_then(store):
    store.add_session(ROW, max_open=1)
    blind = replace(PREDICTION, must_be_observed=True)
    assert not store.add_prediction(blind)
    assert store.observe(ID, now=1500.0)["observed_step"] == 0
    assert store.add_prediction(blind)
    assert not store.add_prediction(replace(blind, step=1))


def test_of_racing_predictions_one_is_counted(store):
    """Also by threads of which each has a connection of its own, as servers side by side have."""
    store.add_session({**ROW, "max_steps": 100}, max_open=1)
    gate = threading.Barrier(8)

    def race(number):
        gate.wait()
        return store.add_prediction(replace(PREDICTION, forecast=bytes([number])))

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(race, range(8))) == 1
    assert store.session(ID)["step"] == 1
    assert len(store.predictions(ID)) == 1


def test_open_sessions_of_a_client_are_limited_also_when_they_race(store):
    gate = threading.Barrier(8)

    def begin(number):
        gate.wait()
        return store.add_session(
            {**ROW, "session_id": f"{number}" * 32, "run_id": f"{number}" * 16}, max_open=3
        )

    with ThreadPoolExecutor(8) as threads:
        assert sum(row is not None for row in threads.map(begin, range(8))) == 3
    other = {**ROW, "client": "10.0.0.2"}
    assert store.add_session(other, max_open=3)
    # Those that have expired do not count.
    late = {**ROW, "session_id": "l" * 32, "run_id": "l" * 16, "created_at": 2000.0}
    assert store.add_session(late, max_open=3)


def test_the_first_result_stays(store):
    store.add_session(ROW, max_open=1)
    assert store.result(ID) is None
    store.add_result(ID, "first")
    store.add_result(ID, "second")
    assert store.result(ID) == "first"


def test_finished_sessions_leave_practice_out(store):
    for letter, practice in (("a", False), ("b", True), ("c", False)):
        row = {**ROW, "session_id": letter * 32, "run_id": letter * 16, "practice": practice}
        store.add_session({**row, "finished_at": 5.0}, max_open=9)
    store.add_session(ROW, max_open=9)
    store.add_result("a" * 32, "score")
    assert [r["run_id"][0] for r in store.finished("toy", scored=True)] == ["a"]
    assert store.finished("toy", scored=True)[0]["document"] == "score"
    assert [r["run_id"][0] for r in store.finished("toy", scored=False)] == ["c"]
    assert store.finished("other", scored=True) == []


def test_a_database_that_was_restarted_is_used_again():
    """Its connections are dead then; a client that tries again must not meet them one by one."""
    with postgres_database() as location:
        store = Store(location)
        store.add_session(ROW, max_open=1)
        gate = threading.Barrier(4)

        def hold(_):
            with store._engine.connect():
                gate.wait()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(hold, range(4)))
        other = create_engine(location.replace("postgresql:", "postgresql+psycopg:"))
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        with other.connect() as connection:
            connection.execute(text(f"{kill} current_database() AND pid <> pg_backend_pid()"))
        other.dispose()
        with pytest.raises(OperationalError):
            store.session(ID)
        for _ in range(8):
            assert store.session(ID) == ROW
        store.close()


def test_a_store_remembers_its_secret(store):
    store.check_fingerprint("one")
    store.check_fingerprint("one")
    with pytest.raises(ConfigurationError, match="another secret"):
        store.check_fingerprint("two")


def test_a_store_of_an_older_version_is_changed_once(location, monkeypatch):
    Store(location).close()

    def add_column(connection):
        connection.execute(text("ALTER TABLE bench_sessions ADD COLUMN note TEXT"))

    monkeypatch.setattr(tables, "CHANGES", (add_column,))
    for _ in range(2):
        store = Store(location)
        store.add_session({**ROW, "session_id": str(_) * 32, "run_id": str(_) * 16}, max_open=9)
        store.close()
    monkeypatch.setattr(tables, "CHANGES", ())
    with pytest.raises(InputError, match="of version 2, and this wbgpu knows versions up to 1"):
        Store(location)


def test_a_change_that_fails_leaves_the_store_as_it_was(location, monkeypatch):
    Store(location).close()

    def fail(connection):
        connection.execute(text("ALTER TABLE bench_sessions ADD COLUMN note TEXT"))
        connection.execute(text("SELECT nonsense"))

    with monkeypatch.context() as changed:
        changed.setattr(tables, "CHANGES", (fail,))
        with pytest.raises(InputError, match="cannot be opened"):
            Store(location)
    store = Store(location)
    assert store.add_session(ROW, max_open=1)
    store.close()


def test_stores_that_are_opened_at_once_are_made_once(location):
    with ThreadPoolExecutor(4) as threads:
        for round_ in range(20 if "://" not in location else 1):
            named = location if "://" in location else f"{location}.{round_}"
            stores = list(threads.map(Store, [named] * 4))
            for store in stores:
                store.close()


def test_a_file_is_its_owners_alone_and_in_wal_mode(tmp_path):
    """It holds the outcomes."""
    store = Store(str(tmp_path / "new/bench.sqlite"))
    store.add_session(ROW, max_open=1)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()}
    assert modes == {0o600}
    store.close()
    engine = create_engine(f"sqlite:///{tmp_path}/new/bench.sqlite")
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    engine.dispose()


def test_a_store_that_cannot_be_opened_says_why(tmp_path):
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to be looked at" * 99)
    with pytest.raises(InputError, match="not a database"):
        Store(str(tmp_path / "text.sqlite"))
    with pytest.raises(InputError, match="cannot be opened"):
        Store(str(tmp_path))
    with pytest.raises(ConfigurationError, match="mysql"):
        Store("mysql://localhost/bench")
    with pytest.raises(ConfigurationError, match="URL"):
        Store("://")
    with pytest.raises(InputError, match="cannot be opened"):
        Store("postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.parametrize(
    "name", ["a b.sqlite", "é.sqlite", "a?mode=ro.sqlite", "%41#.sqlite", ":memory:"]
)
def test_a_store_is_the_file_that_was_named(tmp_path, monkeypatch, name):
    """Read as a URL, ``a?1`` and ``a?2`` were one database, and ``%41`` was ``A``."""
    monkeypatch.chdir(tmp_path)
    first = Store(name)
    first.add_session(ROW, max_open=1)
    first.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = Store(str(tmp_path / name))
    assert again.session(ID) == ROW
    again.close()
