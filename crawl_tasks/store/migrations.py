"""Schema migrations: a database of an earlier version gets today's shape, one step per version.

A step only adds columns that may be NULL, or indexes. Whole tables need no step: missing ones are made. So running
workers of the version before, which name every column that they write, go on beside. Of rows a step may only mend
stored values. When such a worker starts again, the newer schema is refused with one line. Else the worker would leave
columns empty that it does not know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Connection, update

from crawl_tasks.store import tables
from crawl_tasks.store.future_rows import bring_back

Step = tuple[str | Callable[[Connection], object], ...]
"""Statements that both SQLite and PostgreSQL take, such as "ALTER TABLE posts ADD COLUMN likes BIGINT".

A step that SQL alone cannot express is a function of the connection, within the transaction of the step.
"""


def _bring_back(connection: Connection) -> None:
    """Mend rows of schema 2, ordered by the forum's clock: an observation ahead would win for good."""
    bring_back(connection, time.time())


STEPS: Final[tuple[Step, ...]] = (
    (
        "ALTER TABLE posts ADD COLUMN change_id BIGINT",
        "ALTER TABLE comments ADD COLUMN change_id BIGINT",
        "CREATE INDEX posts_by_change ON posts (change_id)",
        "CREATE INDEX comments_by_change ON comments (change_id)",
    ),
    (
        "ALTER TABLE posts ADD COLUMN read_by TEXT",
        "ALTER TABLE comments ADD COLUMN read_by TEXT",
        _bring_back,
    ),
    (
        "ALTER TABLE posts ADD COLUMN author_id VARCHAR(200)",
        "ALTER TABLE comments ADD COLUMN author_id VARCHAR(200)",
        "ALTER TABLE posts ADD COLUMN crawled_at DOUBLE PRECISION",
        "ALTER TABLE comments ADD COLUMN crawled_at DOUBLE PRECISION",
        "ALTER TABLE versions ADD COLUMN crawled_at DOUBLE PRECISION",
    ),
)
"""The first brings schema 1 to schema 2, and so on. The tables of tables.py are those after the last."""


def version_after(steps: Sequence[Step]) -> int:
    """Return the number of the schema after these steps."""
    return 1 + len(steps)


def bring_up(connection: Connection, version: int, steps: Sequence[Step]) -> None:
    """Run the steps that a database of this version lacks, within the transaction of the connection."""
    for step in steps[version - 1 :]:
        for statement in step:
            if isinstance(statement, str):
                connection.exec_driver_sql(statement)
            else:
                statement(connection)
    there = update(tables.meta).where(tables.meta.c.name == "schema")
    connection.execute(there.values(value=str(version_after(steps))))
