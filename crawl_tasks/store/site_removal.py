"""The lives of a site in the database: a site that was removed, or erased, may be published again under its name.

Pages of an earlier life may arrive at any time: from the outbox, from the rejected ones, from a store worker that
slept. Redis' clock tells them apart, as the removal of a site is later than all that was seen of it, and the next life
begins later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

import orjson
from sqlalchemy import Connection, Table, delete, func, select

from crawl_tasks.model import Decision, Items
from crawl_tasks.store import tables
from crawl_tasks.store.future_rows import newest

_LIFE, _DATA = "site", "data"
_NEVER: Final = -1


def of_this_life(connection: Connection, pages: Sequence[Items]) -> list[Items]:
    """Leave out pages that were seen before their site was erased, and visits before it was removed or published."""
    at = tables.decisions.c
    query = select(at.site, at.subject, at.at_ms).where(
        at.site.in_(sorted({page.site for page in pages})), at.subject.in_((_LIFE, _DATA))
    )
    ends = {(site, subject): at_ms for site, subject, at_ms in connection.execute(query)}
    if not ends:
        return list(pages)
    kept = (page for page in pages if _seen_ms(page) > ends.get((page.site, _DATA), _NEVER))
    return [_without_visits(page, ends.get((page.site, _LIFE), _NEVER)) for page in kept]


def _seen_ms(page: Items) -> int:
    """Return when a page was committed or its items were seen, whichever is later.

    Items are seen by the token of a lease, which orders the lives of a site whatever the clock does, but runs ahead of
    it where leases are many. Less the age of a cached page, it may also be behind.
    """
    seen = (*(post.seen_at for post in page.posts), *(comment.seen_at for comment in page.comments))
    return max((*(visit.at_ms for visit in page.visits), *(ceil(at * 1000) for at in seen)), default=0)


def _without_visits(page: Items, until_ms: int) -> Items:
    if page.visits and _seen_ms(page) < until_ms:
        return page._replace(visits=())
    return page


def erasure(connection: Connection, site: str, at_ms: int) -> Decision:
    """Return the note that a site is erased up to a time in ms, or up to its newest row, if that is later."""
    table, at = tables.requests, tables.decisions.c
    of_site = select(func.max(table.c.done_at), func.max(table.c.wanted_at)).where(table.c.site == site)
    before = select(at.at_ms).where(at.site == site, at.subject == _DATA)
    times = [*connection.execute(of_site).one(), connection.scalar(before), ceil(newest(connection, site) * 1000)]
    at_ms = max(at_ms, *(time_ms or 0 for time_ms in times))
    return Decision(site, _DATA, "erased", at_ms, "", "", orjson.dumps([str(at_ms), "erased", "", ""]).decode())


def forget_former_life(connection: Connection, published: Decision) -> None:
    """Delete the requests of a site from before it was published again: nothing is left of them, as after its removal.

    The database may never hear of the removal itself, which the publication replaces.
    """
    times = tables.requests.c.wanted_at, tables.requests.c.done_at
    is_former = (func.coalesce(at, 0) < published.at_ms for at in times)
    connection.execute(delete(tables.requests).where(tables.requests.c.site == published.site, *is_former))


def forget(connection: Connection, sites: Sequence[str], of: Iterable[Table]) -> None:
    """Delete the rows of some sites from the tables that have sites."""
    for table in of:
        if sites and "site" in table.c:
            connection.execute(delete(table).where(table.c.site.in_(sites)))
