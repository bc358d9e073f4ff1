"""Step 6: what commit.lua left for the store is drawn, and let go once it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import orjson
import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.answers import ints
from crawl_tasks.frontier.entry import read_trail
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import Items


class Outbox:
    """Pages' items on one Redis, until they are stored. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    def draw(self, taker: str, most_pages: int, takeover_ms: int = 60_000) -> list[tuple[bytes, bytes]]:
        """Take the oldest waiting pages for storing: (id, items as JSON); pages of a dead taker come first."""
        flat = cast(list[bytes], self._scripts.call(Verb.DRAW, taker, most_pages, takeover_ms)[1])
        return list(zip(flat[::2], flat[1::2], strict=True))

    def stored(
        self,
        pages: Mapping[str, Iterable[bytes]],
        gains: Mapping[str, Mapping[str, int]] | None = None,
        ages: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    ) -> int:
        """Take stored pages off the outbox; give how many more wait that nobody has taken.

        Args:
            pages: the ids of the pages, by site.
            gains: statistics to raise, by site.
            ages: packed ages of posts when they were stored, by site and board.
        """
        ids = {site: [one.decode() for one in some] for site, some in pages.items()}
        reply = self._scripts.call(Verb.STORED, orjson.dumps(gains or {}), orjson.dumps(ages or {}), orjson.dumps(ids))
        return ints(reply)[1]

    @explained("outbox")
    def size(self) -> int:
        """Count the pages whose items are not stored yet."""
        return self._client.xlen(self._keys.outbox)


def read_items(text: bytes) -> Items:
    """Read a page's items back from the outbox; fields that a newer version added are left out.

    Raises:
        BackendError: the text is not what a commit writes.
    """
    try:
        row = orjson.loads(text)
        # The trail is the one part that begins with a text; an older version wrote none.
        trail = row.pop() if len(row) > 4 and row[-1] and isinstance(row[-1][0], str) else ()
        return Items.from_json(row, read_trail(row[0], trail))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise BackendError(f"the outbox holds an entry that is not items: {text[:80]!r}: {error}") from error
