"""The database as duplicate guard, for sites whose guard is `database`: which requests of a page are stored."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection

from crawl_tasks.errors import StoreError
from crawl_tasks.logs import OutageLog
from crawl_tasks.model import Parsed, Stage
from crawl_tasks.store.queries import with_stored
from crawl_tasks.store.upsert import Store

log = logging.getLogger(__name__)


class DatabaseGuard:
    """The duplicate guard in the database, which is opened at the first page that needs it. Thread-safe."""

    def __init__(self, connect: Callable[[], Store]) -> None:
        self._connect = connect
        self._opening = threading.Lock()
        self._store: Store | None = None
        self._outage = OutageLog(log, "the database failed, and its guard takes each request for a new one")

    def mark(self, parsed: Parsed, stages: Collection[Stage]) -> Parsed:
        """Return a page whose stored requests are marked, those of the given stages.

        Without the database none is: a page that is fetched twice is stored once, and a page that waited would be
        fetched twice too.
        """
        if not any(request.stage in stages for request in parsed.children):
            return parsed
        try:
            with self._opening:
                self._store = self._store or self._connect()
            children = with_stored(self._store, parsed.children, stages)
        except StoreError as error:
            self._outage.fail(error)
            return parsed
        self._outage.end()
        return parsed._replace(children=children)
