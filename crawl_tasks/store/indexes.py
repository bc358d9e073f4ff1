"""Index builds: indexes that a later version added are built beside writers, outside of the migration.

No writer or reader needs an index for a right answer, so indexes have no schema number, and older workers go on.
PostgreSQL builds concurrently. SQLite locks writers out for the time of one index, some seconds a million rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from sqlalchemy import Connection, Engine, Index, text
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
    there = set(connection.execute(text(_NAMES[connection.dialect.name])).scalars())
    indexes = [index for table in tables.metadata.sorted_tables for index in table.indexes]
    return sorted((index for index in indexes if index.name not in there), key=lambda index: str(index.name))


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
