"""Rows from the future: times after now are set to now, since no new observation would win against them.

Observations have Redis' clock, and one that was set back leaves such rows. Their order among themselves is lost, their
values and versions are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, func, or_, select, text, update

from crawl_tasks.store import tables
from crawl_tasks.store.stamps import stamps_until

AHEAD_S: Final = 300.0
"""Tolerated lead of a row over a running clock, in seconds: hosts that take turns as Redis differ by less."""

# In the order in which writers lock the tables.
_TABLES: Final = (tables.forums, tables.posts, tables.comments, tables.versions)
_TIMES: Final = ("seen_at", "first_seen_at", "fetched_at")
_PORTION: Final = 1000


def bring_back(connection: Connection, now: float, ahead_s: float = 0.0) -> int:
    """Set times more than `ahead_s` seconds after `now` to `now`. Return the number of rows that had one."""
    # A writer locks rows by key, an UPDATE in the order of storage: without the table lock the two could deadlock.
    if connection.dialect.name == "postgresql":
        names = ", ".join(table.name for table in _TABLES)
        connection.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
    return sum(_bring_table_back(connection, table, now, now + ahead_s) for table in _TABLES)


def find_ahead(connection: Connection, latest: float) -> Iterator[tuple[str, str]]:
    """Return sites and tables of the rows with times after `latest`, in seconds."""
    for table in _TABLES:
        query = select(table.c.site).where(_is_ahead(table, latest)).distinct().order_by(table.c.site)
        for site in connection.execute(query).scalars():
            yield site, table.name


def newest(connection: Connection, site: str) -> float:
    """Return the latest time of a site's rows, in seconds, 0 without rows."""
    times = (select(func.max(table.c.seen_at)).where(table.c.site == site) for table in _TABLES)
    return max(connection.execute(query).scalar_one() or 0.0 for query in times)


def _is_ahead(table: Table, latest: float) -> ColumnElement[bool]:
    return or_(*(table.c[name] > latest for name in _TIMES if name in table.c))


def _bring_table_back(connection: Connection, table: Table, now: float, latest: float) -> int:
    number = connection.execute(select(func.count()).select_from(table).where(_is_ahead(table, latest))).scalar_one()
    if not number:
        return 0
    if "stamps" in table.c:
        _bring_stamps_back(connection, table, now, latest)
    for name in _TIMES:
        if name in table.c:
            connection.execute(update(table).where(table.c[name] > latest).values({name: now}))
    return number


def _bring_stamps_back(connection: Connection, table: Table, now: float, latest: float) -> None:
    """Mend the stamps of rows that are ahead. No stamp is later than its row."""
    keys = list(table.primary_key)
    query = select(*keys, table.c.stamps).where(table.c.seen_at > latest, table.c.stamps.is_not(None)).limit(_PORTION)
    while rows := connection.execute(query).all():
        for *key, packed in rows:
            is_row = and_(*(column == value for column, value in zip(keys, key, strict=True)))
            values = {"stamps": stamps_until(now, packed), "seen_at": now}
            connection.execute(update(table).where(is_row).values(values))
