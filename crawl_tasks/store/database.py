"""The database: one engine (engines.py), opened for our tables and for no others'."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVarTuple

from sqlalchemy import Connection, Row, Select, insert, inspect, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from crawl_tasks.errors import NoTables, StoreError
from crawl_tasks.store import tables
from crawl_tasks.store.driver_errors import explain, without_password
from crawl_tasks.store.engines import WRITES, engine_of, normalised
from crawl_tasks.store.migrations import FIRST, STEPS, Step, bring_up, build_missing, version_after

# "craw" in ASCII: two processes that open an empty PostgreSQL database take turns.
_SCHEMA_LOCK: Final = 0x63726177

_MAY_MAKE: Final = "SELECT has_schema_privilege(current_schema(), 'CREATE')"

_PROBE_BYTES: Final = 1 << 18
"""Size of the row by which a database is tried: more than the rest of a full disk, most often."""

Columns = TypeVarTuple("Columns")


class Database:
    """One database, its connections, and the check that the tables are ours.

    Open in the process that uses the database: connections do not survive a fork.
    """

    def __init__(self, url: str, *, busy_timeout_s: float = 30.0, steps: Sequence[Step] = STEPS) -> None:
        with explained(url):
            self.url = normalised(url)
            self.engine = engine_of(self.url, busy_timeout_s)
        self._file = _file_of(self.url)
        self._opened: tuple[int, int] | None = None
        self._steps = steps
        self._version = version_after(steps)

    def open(self, *, create: bool) -> None:
        """Connect, check whose tables these are, and with `create` make the missing ones of ours.

        Raises:
            StoreError: the database cannot be reached, is not ours, is newer than we are or of before 0.2, or is older
                or not there and `create` is not set.
        """
        try:
            with explained(self.url):
                self._open(create=create)
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run one transaction that writes. The driver's errors pass through."""
        self._check_file()
        with self.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            yield connection

    def probe(self, within_s: float) -> None:
        """Write a row, and take it back: a file on a full disk can be opened for writing too.

        Raises:
            StoreError: the database cannot be written, or was locked by others for so long.
        """
        with explained(self.url), self.writing() as connection:
            if connection.dialect.name == "postgresql":
                for term in ("lock_timeout", "statement_timeout"):
                    connection.execute(text(f"SET LOCAL {term} = {round(within_s * 1000)}"))
            else:
                # So small a cache that the row goes to the disk before the end of the transaction.
                connection.execute(text("PRAGMA cache_size = 8"))
            # No site has such a name.
            filler = secrets.token_hex(_PROBE_BYTES // 2)
            connection.execute(insert(tables.sites), {"site": "?", "text": filler, "installation": "?"})
            connection.rollback()

    def stream(self, query: Select[*Columns]) -> Generator[Row[*Columns]]:
        """Run a query. The iterator holds a connection until used up or closed."""
        with self.reading() as connection, connection.execute(query) as rows:
            yield from rows

    @contextmanager
    def reading(self, *, is_snapshot: bool = False) -> Iterator[Connection]:
        """Run one transaction that reads. Rows arrive in portions, so that a table of any size fits.

        All queries of a snapshot see one moment. Those of SQLite always do.
        """
        options: dict[str, Any] = {"yield_per": 1000}
        if is_snapshot and self.engine.dialect.name == "postgresql":
            options["isolation_level"] = "REPEATABLE READ"
        with explained(self.url):
            self._check_file()
            with self.engine.connect().execution_options(**options) as connection:
                yield connection

    def _open(self, *, create: bool) -> None:
        if self._file is not None:
            _prepare(self._file, create=create)
        with self.engine.connect() as connection:
            version = self._version_there(connection)
            is_whole = version == self._version and not (create and _missing(connection))
        if not is_whole:
            self._make(version, create=create)
        if create:
            build_missing(self.engine, self.writing)
        if self._file is not None:
            self._opened = _inode(self._file)

    def _make(self, version: int | None, *, create: bool) -> None:
        """Migrate an older database, and create the missing tables, in one transaction."""
        if not create and version is not None:
            mismatch = f"has schema {version}, this program reads {self._version}; start its store worker once"
            raise StoreError(f"store: {without_password(self.url)}: {mismatch}")
        if not create:
            raise self._why_empty()
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})"))
            # Read again under the lock: another process may have been quicker.
            version = self._version_there(connection)
            if version is not None and version < self._version:
                bring_up(connection, version, self._steps)
            # All tables, or those that a later version of us added.
            missing = _missing(connection)
            for table in (table for table in tables.metadata.sorted_tables if table.name in missing):
                connection.execute(CreateTable(table))
                for index in table.indexes:
                    connection.execute(CreateIndex(index))
            if version is None:
                identity = {"application": tables.APPLICATION, "schema": str(self._version)}
                rows = [{"name": name, "value": value} for name, value in identity.items()]
                connection.execute(insert(tables.meta), rows)

    def _why_empty(self) -> StoreError:
        """Return the error of a reader that finds no tables: nothing was stored yet, or nothing ever can be."""
        where = without_password(self.url)
        with self.reading() as connection:
            if (
                self._file is None
                and connection.dialect.name == "postgresql"
                and not connection.scalar(text(_MAY_MAKE))
            ):
                grant = f"GRANT USAGE, CREATE ON SCHEMA public TO {self.url.username}"
                return StoreError(f"store: {where}: this user may not make tables in its schema; run {grant}")
        return NoTables(f"store: {where}: no crawl was ever stored here; check the database URL")

    def _version_there(self, connection: Connection) -> int | None:
        """Return the stored schema version, None for an empty database. Raise for another one than ours."""
        here = without_password(self.url)
        names = set(inspect(connection).get_table_names())
        if "meta" not in names:
            if clash := sorted(names & set(tables.metadata.tables)):
                raise StoreError(
                    f"store: {here}: has tables of another program ({', '.join(clash)}); use a database of its own"
                )
            return None
        identity = _read_identity(connection)
        if identity.get("application") != tables.APPLICATION:
            raise StoreError(f"store: {here}: belongs to another program; use a database of its own")
        version = identity.get("schema", "")
        if not version.isdecimal() or int(version) > self._version:
            raise StoreError(
                f"store: {here}: has schema {version}, this program knows {self._version}; "
                "install the version of crawl-tasks that wrote it, or a later one"
            )
        if int(version) < FIRST:
            raise StoreError(
                f"store: {here}: was made by a version before 0.2, which this one does not read; "
                "set CRAWL_DATABASE_URL to a new database"
            )
        return int(version)

    def _check_file(self) -> None:
        """Refuse to go on writing to a file that nobody can see any more."""
        if self._opened is not None and self._file is not None and _inode(self._file) != self._opened:
            raise StoreError(f"store: {self._file}: is gone or was replaced while in use; put it back, then restart")


def _missing(connection: Connection) -> set[str]:
    return set(tables.metadata.tables) - set(inspect(connection).get_table_names())


@contextmanager
def explained(url: URL | str) -> Iterator[None]:
    """Turn a driver's exception into a StoreError of one line."""
    try:
        yield
    except (SQLAlchemyError, ModuleNotFoundError) as error:
        raise explain(error, url) from error


def _file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database, None for one without a visible file."""
    is_plain = url.get_backend_name() == "sqlite" and "uri" not in url.query
    return Path(url.database) if is_plain and url.database and url.database != ":memory:" else None


def _prepare(file: Path, *, create: bool) -> None:
    try:
        if create:
            file.parent.mkdir(parents=True, exist_ok=True)
        is_there = file.exists()
    except OSError as error:
        raise StoreError(
            f"store: {file}: {error.strerror}; name a file in a directory that you may write to"
        ) from error
    if not is_there and not create:
        raise StoreError(f"store: {file}: there is no such file; check the database URL, or crawl first")


def _inode(file: Path) -> tuple[int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _read_identity(connection: Connection) -> dict[str, str]:
    try:
        rows = connection.execute(select(tables.meta.c.name, tables.meta.c.value))
        return {row.name: row.value for row in rows}
    except SQLAlchemyError:
        # A foreign table of this name has other columns.
        return {}
