"""Beside step 8, store: pages whose items cannot be read or stored, kept until somebody has mended what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

import redis

from crawl_tasks.errors import StoreError
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb, explained

MOST_PAGES: Final = 1000
"""Pages the shelf holds; when it is full, the others wait in the outbox, which is bounded itself."""

_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Shelved:
    """A page's items that were laid aside: when (Redis' clock), why, and as they stood in the outbox."""

    at_ms: int
    reason: str
    items: bytes


class Shelf:
    """What was laid aside. Thread-safe."""

    def __init__(self, client: redis.Redis, scripts: Scripts, prefix: str) -> None:
        self._client = client
        self._scripts = scripts
        self._key = Keys(prefix).shelf

    def put(self, page_id: bytes, reason: str) -> None:
        """Take a page from the outbox and lay it aside.

        Raises:
            StoreError: the shelf is full; the page stays in the outbox.
        """
        reply = self._scripts.call(Verb.SHELVE, page_id, reason[:500], MOST_PAGES)
        if reply[0] != 0:
            raise StoreError(
                f"store: {MOST_PAGES} pages that cannot be stored are laid aside, there is no room for more; "
                f"look at them: crawl-tasks shelf list ({reason})"
            )

    def take(self, *, back: bool) -> int:
        """Take up to a hundred of the oldest pages, back into the outbox or away for good; give how many."""
        return cast(int, self._scripts.call(Verb.UNSHELVE, _AT_ONCE, int(back))[1])

    @explained("shelf")
    def size(self) -> int:
        """Count the pages laid aside."""
        return self._client.xlen(self._key)

    def pages(self) -> Iterator[Shelved]:
        """Read what was laid aside, the oldest first."""
        with explained("shelf"):
            entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", self._client.xrange(self._key, count=MOST_PAGES))
        for entry_id, values in entries:
            yield Shelved(int(entry_id.partition(b"-")[0]), values[b"reason"].decode(), values[b"items"])
