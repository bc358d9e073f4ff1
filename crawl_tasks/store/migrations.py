"""Schema migrations: a database of an earlier version gets today's shape, one step per version.

A step only adds columns that may be NULL, or indexes. Whole tables need no step: missing ones are made. So running
workers of the version before, which name every column that they write, go on beside. Of rows a step may only mend
stored values. When such a worker starts again, the newer schema is refused with one line. Else the worker would leave
columns empty that it does not know.

Indexes that a later version added are built beside writers, outside of the migration. No writer or reader needs one for
a right answer, so indexes have no schema number, and older workers go on. PostgreSQL builds concurrently. SQLite locks
writers out for the time of one index, some seconds a million rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from sqlalchemy import Connection, Engine, Index, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex

from crawl_tasks.store import tables

log = logging.getLogger(__name__)

# "cidx" in ASCII: of several store workers that start, one builds.
_BUILD_LOCK: Final = 0x63696478
# A concurrent build waits for every older transaction, such as an export of hours. The next start tries again.
_LOCK_TIMEOUT: Final = "10s"

_VALID = """
SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE indisvalid AND relnamespace = current_schema()::regnamespace
"""
_NAMES: Final = {"sqlite": "SELECT name FROM sqlite_master WHERE type = 'index'", "postgresql": _VALID}


def build_missing(engine: Engine, writing: Callable[[], AbstractContextManager[Connection]]) -> None:
    """Build the indexes that the database lacks. One that cannot be built now is left to the next start.

    `writing` opens a transaction that writes.
    """
    with engine.connect() as connection:
        missing = _missing(connection)
    try:
        if engine.dialect.name == "postgresql" and missing:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                _build_concurrently(connection, missing)
            return
        # One index a transaction: between two of them writers get their turn.
        for index in missing:
            with writing() as connection:
                connection.execute(CreateIndex(index, if_not_exists=True))
    except DBAPIError as error:
        log.warning("an index is not built yet; the next start of a store worker tries again", exc_info=error)


def _missing(connection: Connection) -> list[Index]:
    names = set(connection.execute(text(_NAMES[connection.dialect.name])).scalars())
    indexes = [index for table in tables.metadata.sorted_tables for index in table.indexes]
    return sorted((index for index in indexes if index.name not in names), key=lambda index: str(index.name))


def _build_concurrently(connection: Connection, indexes: list[Index]) -> None:
    # A lock that would be waited for holds a snapshot, for which the build of the other worker waits.
    if not connection.execute(text(f"SELECT pg_try_advisory_lock({_BUILD_LOCK})")).scalar_one():
        return
    try:
        connection.execute(text(f"SET lock_timeout = '{_LOCK_TIMEOUT}'"))
        for index in indexes:
            # A build that was cut off leaves an index that is not valid.
            connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}"))
            statement = str(CreateIndex(index).compile(dialect=connection.dialect))
            connection.execute(text(statement.replace("CREATE INDEX", "CREATE INDEX CONCURRENTLY", 1)))
    finally:
        connection.execute(text("RESET lock_timeout"))
        connection.execute(text(f"SELECT pg_advisory_unlock({_BUILD_LOCK})"))


Step = tuple[str | Callable[[Connection], object], ...]
"""Statements that both SQLite and PostgreSQL take, such as "ALTER TABLE posts ADD COLUMN likes BIGINT".

A step that SQL alone cannot express is a function of the connection, within the transaction of the step.
"""


FIRST: Final = 7
"""The schema of version 0.2. A database of before is refused."""

STEPS: Final[tuple[Step, ...]] = ()
"""The first brings schema 7 to schema 8, and so on. The tables of tables.py are those after the last."""


def version_after(steps: Sequence[Step]) -> int:
    """Return the number of the schema after these steps."""
    return FIRST + len(steps)


def bring_up(connection: Connection, version: int, steps: Sequence[Step]) -> None:
    """Run the steps that a database of this version lacks, within the transaction of the connection."""
    for step in steps[version - FIRST :]:
        for statement in step:
            if isinstance(statement, str):
                connection.exec_driver_sql(statement)
            else:
                statement(connection)
    schema = update(tables.meta).where(tables.meta.c.name == "schema")
    connection.execute(schema.values(value=str(version_after(steps))))
