"""Truncated threads: they lack more than a few of the replies that their lists count. They prove nothing."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import Final

from crawl_tasks.errors import GuestPage, TruncatedThread
from crawl_tasks.frontier.wire.limits import SHORT_IN_A_ROW, SHORT_RARE
from crawl_tasks.model import Fetched, Lease, Parsed, Stage
from crawl_tasks.model.own_counters import count
from crawl_tasks.model.reply_counts import is_short
from crawl_tasks.registry.site_registry import CompiledSite
from crawl_tasks.worker.page_findings import listed_replies

log = logging.getLogger(__name__)

LOOKS: Final = 3
"""Attempts to read a page that may be a guest's, where it cannot be read, or a thread lacks replies."""


def is_whole(site: CompiledSite, lease: Lease, parsed: Parsed) -> bool:
    """Return whether a thread's page has all the replies that its list counts: what did not come is no part of it."""
    listed = listed_replies(site, lease.request, parsed) if lease.request.stage is Stage.POST else None
    return listed is not None and len(parsed.items.comments) >= listed


class TruncatedThreads:
    """The truncated threads that a process has read. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_a_row = Counter[str]()

    def proven(self, parsed: Parsed, site: CompiledSite, lease: Lease, page: Fetched) -> Parsed:
        """Return a thread's page, as a part where the thread lacks replies that its list counts.

        Raises:
            TruncatedThread: it lacks replies, and is looked at again.
            GuestPage: the same of a page that does not say who asked for it.
        """
        name, most = lease.request.site, site.retry.max_attempts
        listed, read = listed_replies(site, lease.request, parsed), len(parsed.items.comments)
        if listed is not None and is_short(listed, read, counts_hidden=site.site.list.counts_hidden):
            text = f"{listed} replies in the list, {read} read on {lease.request.address}"
            if page.is_unsigned:
                text = f"{text}; the page does not say who asked for it"
                if lease.attempt < min(LOOKS, most):
                    raise GuestPage(text)
            elif lease.attempt < min(2, most) and self._may_look_again(name):
                raise TruncatedThread(text)
            log.warning("a thread lacks replies that its list counts", extra={"details": text})
            count(name, "doubtful_threads")
            return parsed._replace(items=parsed.items._replace(swept=()), broke_off=text)
        if lease.attempt > 1:
            with self._lock:
                self._in_a_row[name] = 0
        return parsed

    def _may_look_again(self, site: str) -> bool:
        with self._lock:
            self._in_a_row[site] += 1
            number = self._in_a_row[site]
        return number <= SHORT_IN_A_ROW or number % SHORT_RARE == 0
