"""What the store's tests look at: whole tables, and short ways to write items."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Table, delete, select

from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store import tables
from crawl_tasks.store.upsert import Store


def dump(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Read every table of what was found, sorted by key; in which transaction a row changed is no part of what it says.

    Of authors without an id the time tells nothing: it is that of any observation.
    """
    with store.database.reading() as connection:
        return {
            name: sorted(tuple(row) for row in connection.execute(select(*(told_of(table)))))
            for name, table in tables.metadata.tables.items()
            if name not in {"meta", "removals"}
        }


def told_of(table: Table) -> list[Column[Any]]:
    """Return the columns that the order and the number of batches leave alone."""
    if table is tables.authors:
        return [table.c.site, table.c.author_id, table.c.name]
    return [column for column in table.columns if column.name not in tables.OF_CHANGE]


def empty(store: Store) -> None:
    """Delete every row."""
    with store.database.writing() as connection:
        for name, table in tables.metadata.tables.items():
            if name != "meta":
                connection.execute(delete(table))
    store.authors.clear()


def row(store: Store, table: str) -> dict[str, object]:
    """Read the only row of a table."""
    with store.database.reading() as connection:
        found = connection.execute(select(tables.metadata.tables[table])).mappings().one()
        return dict(found)


def versions(store: Store) -> dict[tuple[str, str], float]:
    """Read the versions as (field, value) -> the last time it was seen."""
    with store.database.reading() as connection:
        table = tables.versions
        query = select(table.c.field, table.c.value, table.c.seen_at)
        return {(field, value): seen_at for field, value, seen_at in connection.execute(query)}


def authors_of(store: Store) -> dict[str, str | None]:
    """Read the names of authors by their keys."""
    with store.database.reading() as connection:
        return dict(connection.execute(select(tables.authors.c.author_id, tables.authors.c.name)).all())


def page(*items: Post | Comment, site: str = "site") -> Items:
    """Make the items of one page."""
    posts = tuple(item for item in items if isinstance(item, Post))
    comments = tuple(item for item in items if isinstance(item, Comment))
    return Items(site, (), posts, comments)


def post(seen_at: float, **fields: object) -> Items:
    """Make a page with one observation of post 1."""
    return page(Post("1", seen_at, **fields))  # type: ignore[arg-type]  # a test may say what no page does
