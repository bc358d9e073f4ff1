"""Under the store's tables: how a database that an earlier version made gets the shape of today's, one step a version.

A step only adds: columns that may be NULL, indexes; whole tables need none, they are made where they are missing. So
workers of the version before, which name every column that they write, go on beside it. Rows it may only mend in what
they say already. Opened anew they refuse the
database with one line, instead of leaving empty what they do not know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Connection, update

from crawl_tasks.store import tables
from crawl_tasks.store.future import bring_back

Step = tuple[str | Callable[[Connection], object], ...]
"""Statements that both SQLite and PostgreSQL take, such as "ALTER TABLE posts ADD COLUMN likes BIGINT".

What no such statement can say is a function of the connection, which is within the transaction of the step.
"""


def _bring_back(connection: Connection) -> None:
    """Schema 2 had observations in the order of the forum's clock: one that was ahead would win for good."""
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
)
"""The first brings schema 1 to schema 2, and so on; the tables of tables.py are those after the last."""


def version_after(steps: Sequence[Step]) -> int:
    """Number the schema that the steps lead to."""
    return 1 + len(steps)


def bring_up(connection: Connection, version: int, steps: Sequence[Step]) -> None:
    """Take the steps that a database of this version lacks, within the transaction of the connection."""
    for step in steps[version - 1 :]:
        for statement in step:
            if isinstance(statement, str):
                connection.exec_driver_sql(statement)
            else:
                statement(connection)
    there = update(tables.meta).where(tables.meta.c.name == "schema")
    connection.execute(there.values(value=str(version_after(steps))))
