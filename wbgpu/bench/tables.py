"""Tables of the store, and how a store of an older version becomes one of this version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    String,
    Table,
    Text,
    inspect,
    select,
)

from wbgpu.errors import InputError

METADATA = MetaData()

META = Table(
    "bench_meta",
    METADATA,
    Column("key", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""``schema_version`` and ``secret_fingerprint``."""

SESSIONS = Table(
    "bench_sessions",
    METADATA,
    Column("session_id", String(40), primary_key=True),
    Column("run_id", String(40), nullable=False, unique=True),
    Column("world", Text, nullable=False),
    Column("world_sha256", String(64), nullable=False),
    # As text: no database has unsigned 64-bit integers.
    Column("seed", String(20), nullable=False),
    Column("draws", Text, nullable=False),
    Column("max_steps", Integer, nullable=False),
    Column("practice", Boolean, nullable=False),
    Column("name", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("step", Integer, nullable=False),
    Column("observed_step", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("action", Integer, nullable=False),
    Index("bench_sessions_of_client", "client", "finished_at"),
)
"""One row per session. ``session_id`` opens it and is its client's alone; ``run_id`` is public.
``step`` counts predictions; ``state`` (a JSON list) and ``action`` are what it is asked about."""

PREDICTIONS = Table(
    "bench_predictions",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("action", Integer, nullable=False),
    Column("forecast", LargeBinary, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("created_at", Double, nullable=False),
)
"""One row per prediction. ``forecast``: little-endian float64, the variables one after another."""

RESULTS = Table(
    "bench_results",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id), primary_key=True),
    Column("document", Text, nullable=False),
)
"""Scores of finished sessions, which follow from their predictions."""

VERSION_KEY = "schema_version"
FINGERPRINT_KEY = "secret_fingerprint"

CHANGES: tuple[Callable[[Connection], None], ...] = ()
"""What makes of a store of version 1 one of version 2, and so on. A change of a table above is a
new function here, which says in its own statements what it does; none is edited afterwards."""


def upgrade(connection: Connection) -> None:
    """Make the tables, or change those of an older store, in one transaction.

    Raises:
        InputError: the store is of a newer version.
    """
    # Of two servers that start at once, the second waits and finds all made.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(72110235)")
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    newest = 1 + len(CHANGES)
    if not inspect(connection).has_table(META.name):
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(META.insert().values(key=VERSION_KEY, value=str(newest)))
        return
    version = int(connection.execute(select_meta(VERSION_KEY)).scalar_one())
    if version > newest:
        raise InputError(
            f"store: it is of version {version}, and this wbgpu knows versions up to {newest}; "
            "update wbgpu, or name another store"
        )
    for change in CHANGES[version - 1 :]:
        change(connection)
    connection.execute(META.update().where(META.c.key == VERSION_KEY).values(value=str(newest)))


def select_meta(key: str) -> Select[Any]:
    """The value of one key of `META`."""
    return select(META.c.value).where(META.c.key == key)
