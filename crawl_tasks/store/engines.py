"""Engines: the connections of each kind of database, as SQLAlchemy makes them for us.

SQLite runs in WAL mode. A writer takes its lock with BEGIN IMMEDIATE: a deferred transaction that turns to writing
fails at once, in spite of the timeout, if another writer was quicker.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from crawl_tasks.errors import StoreError
from crawl_tasks.store.driver_errors import without_password

if TYPE_CHECKING:
    from psycopg import Connection as PostgresConnection

WRITES: Final = "crawl_writes"
"""The execution option of a connection that is going to write."""
KINDS: Final = frozenset({"sqlite", "postgresql", "postgres"})
_DRIVERS: Final = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}
_CONNECT_TIMEOUT_S: Final = 10
# Of PostgreSQL: a prepared statement that is not there, or is there already.
_STATEMENT_LOST: Final = frozenset(("26000", "42P05"))


def normalised(url: str) -> URL:
    """Return the URL of a database with its driver.

    Raises:
        StoreError: the kind of database is not supported.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() not in KINDS:
        raise StoreError(
            f"store: {without_password(parsed)}: {parsed.get_backend_name()} is not supported; "
            "use sqlite:///FILE or postgresql://USER@HOST/NAME"
        )
    return parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))


def engine_of(url: URL, busy_timeout_s: float) -> Engine:
    """Return the engine of a database."""
    if url.get_backend_name() != "sqlite":
        arguments = {"connect_timeout": _CONNECT_TIMEOUT_S}
        # Positional parameters, so that a batch travels as tuples. And a ping before each use, because a restarted
        # server leaves dead connections in the pool.
        engine = create_engine(url, pool_pre_ping=True, paramstyle="format", connect_args=arguments)
        # First of all: SQLAlchemy's own first question fails where the driver gives bytes.
        event.listen(engine, "first_connect", partial(_check_encoding, url), insert=True)
        _heed_poolers(engine)
        return engine
    sqlite3.register_adapter(type(None), _as_it_is)
    # A database in memory lives and dies with its connection, so all threads must share one.
    pool = StaticPool if url.database in {None, "", ":memory:"} else None
    arguments_lite = {"timeout": busy_timeout_s, "check_same_thread": False}
    engine = create_engine(url, poolclass=pool, connect_args=arguments_lite)
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _give_up_connection)
    return engine


def _check_encoding(url: URL, connection: PostgresConnection[Any], _: ConnectionPoolEntry) -> None:
    """Refuse a PostgreSQL database that cannot hold the texts of all forums: it would reject them one by one."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, "UTF8"):
        remedy = "make one with: createdb --encoding=UTF8 --template=template0 NAME"
        raise StoreError(
            f"store: {without_password(url)}: its encoding is {encoding}, which does not hold all texts; {remedy}"
        )


def _heed_poolers(engine: Engine) -> None:
    """Prepare no statements any more when one was lost, as behind pgbouncer, which changes connections."""
    terms: dict[str, None] = {}

    def note_loss(context: ExceptionContext) -> None:
        if getattr(context.original_exception, "sqlstate", None) in _STATEMENT_LOST:
            terms["prepare_threshold"] = None
            context.is_disconnect = True  # all connections are made anew, and the batch is tried again at once

    event.listen(engine, "do_connect", lambda dialect, record, arguments, options: options.update(terms))
    event.listen(engine, "handle_error", note_loss)


def _set_up_sqlite(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    # The driver must not begin transactions of its own.
    connection.isolation_level = None
    # Counts for a new file only: a fifth less CPU than 4096.
    connection.execute("PRAGMA page_size = 8192")
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -16384")  # KiB
    connection.execute("PRAGMA wal_autocheckpoint = 2000")  # pages


def _give_up_connection(context: ExceptionContext) -> None:
    """Have a connection closed that cannot commit, as a statement of it never ended: the next batch gets another."""
    if context.connection is not None and "SQL statements in progress" in str(context.original_exception):
        context.connection.connection.rollback()  # else the file stays locked as long as the statement lives
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False  # the others are well


def _as_it_is(nothing: None) -> None:
    """Adapt None for SQLite: else the driver makes a costly search for an adapter at each NULL."""
    return nothing


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
