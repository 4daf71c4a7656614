"""Sessions and predictions in SQLite or PostgreSQL: one transaction per prediction."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Engine,
    and_,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    make_url,
    select,
    update,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from wbgpu.bench.tables import (
    FINGERPRINT_KEY,
    META,
    PREDICTIONS,
    RESULTS,
    SESSIONS,
    select_meta,
    upgrade,
)
from wbgpu.errors import ConfigurationError, InputError

_NUM_CONNECTIONS = 8
# Shorter than a client waits: it is told to try again, and the others are answered meanwhile.
_LOCK_SECONDS = 5
_POSTGRESQL = "postgresql+psycopg"

Row = dict[str, Any]


@dataclass(frozen=True)
class Prediction:
    """A row of ``bench_predictions`` and what its session is asked next.

    Attributes:
        step: 0-based.
        state, action: what was forecast from; ``state`` and ``outcome`` are JSON lists.
        forecast: little-endian float64.
        outcome: what happened, the next state.
        next_action: asked about at ``step + 1``.
        at: seconds since 1970.
        is_last: whether the session is finished by it.
        must_be_observed: whether it counts only if ``step`` has been observed.
    """

    session_id: str
    step: int
    state: str
    action: int
    forecast: bytes
    outcome: str
    next_action: int
    at: float
    is_last: bool
    must_be_observed: bool


class Store:
    """Everything the bench knows; safe to be used by threads and servers side by side.

    Args:
        location: path of an SQLite file, which is made where there is none, or the URL of a
            database, ``postgresql://user@host/name``.

    Raises:
        ConfigurationError: the URL is none, or of a database that is not supported.
        InputError: the store cannot be opened, or is of a newer version.
    """

    def __init__(self, location: str) -> None:
        self.file = None if "://" in location else Path(location)
        self._engine = _sqlite(self.file) if self.file else _postgresql(location)
        # For statements that stand alone: PostgreSQL is asked once and not three times.
        self._single = (
            self._engine
            if self.file
            else self._engine.execution_options(isolation_level="AUTOCOMMIT")
        )
        try:
            with self._engine.begin() as connection:
                upgrade(connection)
        except (SQLAlchemyError, InputError) as error:
            self.close()
            if isinstance(error, InputError):
                raise
            reason = str(error.__cause__ or error).strip().partition("\n")[0]
            raise InputError(f"store: cannot be opened: {reason}") from None

    @property
    def num_connections(self) -> int:
        """How many threads it serves at once without making one wait."""
        # SQLite has one writer; threads that wait for it only cost time.
        return 1 if self.file else _NUM_CONNECTIONS

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def ping(self) -> None:
        """Fail if the database does not answer."""
        with self._single.connect() as connection:
            connection.exec_driver_sql("SELECT 1")

    def check_fingerprint(self, fingerprint: str) -> None:
        """Remember which secret the store was made with.

        Raises:
            ConfigurationError: it was another.
        """
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(META).values(key=FINGERPRINT_KEY, value=fingerprint))
        except IntegrityError:
            with self._single.connect() as connection:
                known = connection.execute(select_meta(FINGERPRINT_KEY)).scalar_one()
            if known != fingerprint:
                raise ConfigurationError(
                    "secret: this store was made with another secret, and its episodes cannot go "
                    "on without that; give it, or name another store"
                ) from None

    def add_session(self, row: Row, max_open: int) -> Row | None:
        """Add a session, unless its client has ``max_open`` that are open.

        Returns:
            ``row``; of a session with this id that had been added before, the row that it has; or
            ``None`` if there were too many.
        """
        client, now = row["client"], row["created_at"]
        open_ones = and_(
            SESSIONS.c.client == client,
            SESSIONS.c.finished_at.is_(None),
            SESSIONS.c.expires_at > now,
        )
        with self._engine.begin() as connection:
            self._lock_client(connection, client)
            known = connection.execute(_SESSION, {"id": row["session_id"]}).mappings().first()
            if known is not None:
                return dict(known)
            count = connection.execute(
                select(func.count()).select_from(SESSIONS).where(open_ones)
            ).scalar_one()
            if count >= max_open:
                return None
            connection.execute(insert(SESSIONS).values(**row))
        return row

    def session(self, session_id: str) -> Row | None:
        """A row of ``bench_sessions``, if there is one."""
        with self._single.connect() as connection:
            row = connection.execute(_SESSION, {"id": session_id}).mappings().first()
        return None if row is None else dict(row)

    def run(self, run_id: str) -> Row | None:
        """A row of ``bench_sessions`` by its public id, if there is one."""
        query = select(SESSIONS).where(SESSIONS.c.run_id == run_id)
        with self._single.connect() as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else dict(row)

    def observe(self, session_id: str, now: float) -> Row | None:
        """A row of ``bench_sessions``; that its step has been observed is remembered.

        Args:
            session_id: of the session.
            now: seconds since 1970; a session that has expired by then is left as it is.
        """
        with self._single.begin() as connection:
            marked = connection.execute(_OBSERVE, {"id": session_id, "now": now}).mappings().first()
        return self.session(session_id) if marked is None else dict(marked)

    def add_prediction(self, prediction: Prediction) -> bool:
        """Count a prediction, if its step is the one its session is at; whether it was counted.

        Of any number that race, one is: the session's row is changed only while it is at this step.
        """
        values = {
            "id": prediction.session_id,
            "at_step": prediction.step,
            "least_observed": prediction.step if prediction.must_be_observed else -1,
            "next_step": prediction.step + 1,
            "next_state": prediction.outcome,
            "next_action": prediction.next_action,
        }
        row = {
            "session_id": prediction.session_id,
            "step": prediction.step,
            "state": prediction.state,
            "action": prediction.action,
            "forecast": prediction.forecast,
            "outcome": prediction.outcome,
            "created_at": prediction.at,
        }
        with self._engine.begin() as connection:
            if connection.execute(_ADVANCE, values).rowcount != 1:
                return False
            connection.execute(_PREDICT, row)
            if prediction.is_last:
                ended = {"id": prediction.session_id, "ended": prediction.at}
                connection.execute(_FINISH, ended)
        return True

    def predictions(self, session_id: str) -> list[Row]:
        """Rows of ``bench_predictions`` of a session, by step."""
        query = (
            select(PREDICTIONS)
            .where(PREDICTIONS.c.session_id == session_id)
            .order_by(PREDICTIONS.c.step)
        )
        with self._single.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def add_result(self, session_id: str, document: str) -> None:
        """Keep the score of a finished session; the first one stays."""
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(RESULTS).values(session_id=session_id, document=document))
        except IntegrityError:
            return

    def result(self, session_id: str) -> str | None:
        """The score of a session, if it has been added."""
        query = select(RESULTS.c.document).where(RESULTS.c.session_id == session_id)
        with self._single.connect() as connection:
            return connection.execute(query).scalar()

    def finished(self, world: str, *, scored: bool) -> list[Row]:
        """Finished sessions of a world that count, practice ones left out.

        Args:
            world: its name.
            scored: those with a ``document``, their score; or those without.
        """
        query = (
            select(SESSIONS, RESULTS.c.document)
            .outerjoin(RESULTS, RESULTS.c.session_id == SESSIONS.c.session_id)
            .where(
                SESSIONS.c.world == world,
                SESSIONS.c.finished_at.is_not(None),
                SESSIONS.c.practice.is_(False),
                RESULTS.c.document.is_not(None) if scored else RESULTS.c.document.is_(None),
            )
            .order_by(SESSIONS.c.finished_at)
        )
        with self._single.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _lock_client(self, connection: Any, client: str) -> None:
        """Count and insert of one client must not interleave with another of the same client."""
        if self.file:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            lock = func.pg_advisory_xact_lock(func.hashtext(client))
            connection.execute(select(lock))


_SESSION = select(SESSIONS).where(SESSIONS.c.session_id == bindparam("id"))
_OBSERVE = (
    update(SESSIONS)
    .where(
        SESSIONS.c.session_id == bindparam("id"),
        SESSIONS.c.observed_step < SESSIONS.c.step,
        SESSIONS.c.step < SESSIONS.c.max_steps,
        SESSIONS.c.expires_at > bindparam("now"),
    )
    .values(observed_step=SESSIONS.c.step)
    .returning(SESSIONS)
)
_ADVANCE = (
    update(SESSIONS)
    .where(
        SESSIONS.c.session_id == bindparam("id"),
        SESSIONS.c.step == bindparam("at_step"),
        SESSIONS.c.observed_step >= bindparam("least_observed"),
        SESSIONS.c.step < SESSIONS.c.max_steps,
    )
    .values(
        step=bindparam("next_step"),
        state=bindparam("next_state"),
        action=bindparam("next_action"),
    )
)
# Apart, because an index has to be changed as well.
_FINISH = (
    update(SESSIONS)
    .where(SESSIONS.c.session_id == bindparam("id"))
    .values(finished_at=bindparam("ended"))
)
_PREDICT = insert(PREDICTIONS)


def _sqlite(file: Path) -> Engine:
    try:
        if not file.exists():
            _make_sqlite(file)
    except OSError as error:
        raise InputError(f"store: {file} cannot be opened: {error.strerror}") from None
    engine = create_engine(
        # Not as text, in which % and ? of a path mean something; nor may :memory: be no file.
        URL.create("sqlite", database=str(file.absolute())),
        pool_size=_NUM_CONNECTIONS,
        connect_args={"timeout": _LOCK_SECONDS},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, record: Any) -> None:
        del record
        connection.execute("PRAGMA journal_mode=WAL")
        # Written at commit, synced at checkpoints: a killed server loses nothing, and a machine
        # that loses power at most the last moments, but never the consistency.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine


def _make_sqlite(file: Path) -> None:
    """An empty database in WAL mode under its name at once, whoever else is making it."""
    # Two connections that both switch a new file to WAL fail without waiting; and opening and
    # closing a file that SQLite has open in this process would drop SQLite's locks on it.
    file.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp: it holds what clients must not see; SQLite gives its side files its permissions.
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(name)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        Path(name).unlink()


def _postgresql(location: str) -> Engine:
    try:
        url = make_url(location)
    except ArgumentError:
        raise ConfigurationError("store: expected a path, or a URL of a database") from None
    if url.get_backend_name() != "postgresql":
        raise ConfigurationError(
            f"store: expected a path or postgresql://..., got {url.drivername}://..."
        )
    try:
        return create_engine(url.set(drivername=_POSTGRESQL), pool_size=_NUM_CONNECTIONS)
    except ModuleNotFoundError:
        raise ConfigurationError(
            "store: PostgreSQL needs the package psycopg: pip install 'wbgpu[bench]'"
        ) from None
