"""The transactional outbox: commit.lua puts a page's items there, and the store task takes and acknowledges them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import orjson
import redis

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.entry import read_trail
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.replies import AckResult
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import Items


class Batch(NamedTuple):
    """A batch of pages, each with its id and its items as JSON.

    `number` is that of the batch, 0 for an empty one. The database has had all changes of the ledger up to `acked`.
    It was drawn at `at_ms` of Redis' clock.
    """

    number: int
    acked: int
    pages: list[tuple[bytes, bytes]]
    at_ms: int


class Outbox:
    """The outbox on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    def draw(self, taker: str, most_pages: int, known: int = 0, *, takeover_ms: int = 60_000) -> Batch:
        """Take the oldest waiting pages for storing. Pages of a dead taker come first.

        A Redis that has forgotten the batch `known` notes that it is older than the database.
        """
        reply = self._scripts.call(Verb.READ_OUTBOX, taker, most_pages, takeover_ms, known)
        _, flat, number, acked, at_ms = cast("tuple[int, list[bytes], int, int, int]", reply)
        return Batch(number, acked, list(zip(flat[::2], flat[1::2], strict=True)), at_ms)

    def ack(
        self,
        pages: Mapping[str, Iterable[bytes]],
        gains: Mapping[str, Mapping[str, int]] | None = None,
        ages: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
        change_id: int = 0,
    ) -> AckResult:
        """Take stored pages off the outbox.

        Args:
            pages: the ids of the pages, by site.
            gains: statistics to raise, by site.
            ages: packed ages of items when they were stored, by site and board.
            change_id: the greatest change of the database by these pages.
        """
        ids = {site: [page_id.decode() for page_id in page_ids] for site, page_ids in pages.items()}
        reply = self._scripts.call(
            Verb.ACK_OUTBOX, orjson.dumps(gains or {}), orjson.dumps(ages or {}), orjson.dumps(ids), change_id
        )
        _, untaken, short, *ended = reply
        return AckResult(
            cast("int", untaken),
            tuple(site.decode() for site in cast("list[bytes]", ended)),
            {site: frozenset(threads) for site, threads in orjson.loads(cast("bytes", short)).items()},
        )

    @explained("outbox")
    def span(self) -> tuple[str, str] | None:
        """Return the ids of the oldest and of the newest waiting page, None without one."""
        first = cast("list[tuple[bytes, object]]", self._client.xrange(self._keys.outbox, count=1))
        last = cast("list[tuple[bytes, object]]", self._client.xrevrange(self._keys.outbox, count=1))
        return (first[0][0].decode(), last[0][0].decode()) if first and last else None

    @explained("outbox")
    def has_within(self, span: tuple[str, str] | None) -> bool:
        """Return whether a page of a span waits. Where Redis' clock was set back, later pages are before it."""
        return span is not None and bool(self._client.xrange(self._keys.outbox, *span, count=1))

    @explained("outbox")
    def size(self) -> int:
        """Return the number of pages whose items are not stored yet."""
        return self._client.xlen(self._keys.outbox)


def read_items(text: bytes) -> Items:
    """Return a page's items from the text in the outbox. Fields that a newer version added are left out.

    Raises:
        BackendError: no commit wrote this text.
    """
    try:
        row = orjson.loads(text)
        return Items.from_json(row, read_trail(row[0], row.pop()))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise BackendError(f"the outbox holds an entry that is not items: {text[:80]!r}: {error}") from error
