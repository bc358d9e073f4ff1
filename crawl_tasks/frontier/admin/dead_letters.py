"""Dead letters of four kinds behind one interface: failed requests, rejected items, messages and start entries.

Redis holds each kind as the Lua scripts wrote it: pages in two hashes a site, items in a stream, messages and start
entries together in one list. So each kind has a class, and list, show, retry and drop are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Final, cast

import redis

from crawl_tasks.errors import BackendError, ConfigError, StoreError
from crawl_tasks.frontier.admin.failed import (
    ANY,
    DeadLetter,
    FailedKind,
    FailedRequest,
    RejectedItem,
    RejectedMessage,
    Selection,
    read_failed,
    read_rejected,
)
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.replies import ints, of_published
from crawl_tasks.frontier.scripts import Scripts, Verb, explained

MOST_ITEMS: Final = 1000
"""The most pages with rejected items. Further ones wait in the outbox, which is bounded too."""

MOST_MESSAGES: Final = 1000
"""The most rejected messages and start entries together. The newest are kept."""

_ITEMS_AT_ONCE: Final = 100


class DeadLetters(ABC):
    """One kind of dead letters on one Redis.

    Every call may raise RedisUnreachable or BackendError. ConfigError means that no such site is published, or that an
    id fits no letter or several.
    """

    kind: FailedKind
    has_ids = False
    """Whether single letters are retried or dropped, chosen by their ids."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    @abstractmethod
    def list(self, chosen: Selection = ANY) -> Iterator[DeadLetter]:
        """Return the chosen letters."""

    @abstractmethod
    def _take(self, chosen: Selection, *, back: bool) -> int:
        """Move the chosen letters back to where they failed, or drop them, and return the number."""

    def retry(self, chosen: Selection = ANY) -> int:
        """Send the chosen letters back to where they failed, and return the number."""
        return self._take(self._takeable(chosen), back=True)

    def drop(self, chosen: Selection = ANY) -> int:
        """Drop the chosen letters for good, and return the number."""
        return self._take(self._takeable(chosen), back=False)

    def _takeable(self, chosen: Selection) -> Selection:
        # Such a kind ignores ids: all letters chosen by the other terms would go.
        if chosen.ids and not self.has_ids:
            raise ConfigError(f"a failed {self.kind} is not sent back or dropped by its id")
        return chosen

    def show(self, chosen: Selection) -> DeadLetter:
        """Return the letter that is chosen by an id."""
        failed = next(iter(self.list(chosen)), None)
        if failed is None:
            raise self._unknown(", ".join(chosen.ids), 0)
        return failed

    def _unknown(self, id_: str, fitting: int) -> ConfigError:
        return ConfigError(f"{fitting or 'no'} failed {self.kind}s have the id {id_!r}; see: crawl-tasks failed list")


class FailedRequests(DeadLetters):
    """Failed requests: the dead and the parked requests of all sites."""

    kind = FailedKind.PAGE

    def list(self, chosen: Selection = ANY) -> Iterator[FailedRequest]:
        """Return the failed requests of one site as a stream, in no order."""
        for state in chosen.states:
            with explained("failed requests"):
                for _, text in self._client.hscan_iter(self._keys.failed(chosen.site, state.value), count=200):
                    failed = read_failed(chosen.site, state, text)
                    if chosen.fits(failed):
                        yield failed

    def readdress(self, moved: Iterable[tuple[FailedRequest, str]]) -> int:
        """Make failed requests of one site ready again under other addresses, and return the number."""
        total = 0
        for failed, address in moved:
            place = failed.request.site, failed.state.value, failed.rid, failed.request.address, address
            total += of_published(failed.request.site, self._scripts.call(Verb.READDRESS, *place))[1]
        return total

    def _take(self, chosen: Selection, *, back: bool) -> int:
        """Call the verb until the hash ends or enough is handled. Each call looks at some thousands."""
        verb, handled = Verb.RETRY_FAILED if back else Verb.DROP_FAILED, 0
        for state in chosen.states:
            terms = chosen.site, state.value, chosen.reason, chosen.stage.value if chosen.stage else ""
            # HSCAN begins and ends with the cursor 0, so that -1 stands for "not begun".
            cursor = -1
            while cursor != 0 and handled < chosen.most:
                reply = self._scripts.call(verb, *terms, chosen.most - handled, max(cursor, 0))
                _, count, cursor = of_published(chosen.site, reply)
                handled += count
        return handled


class RejectedItems(DeadLetters):
    """Rejected items: items of pages that cannot be read or stored. Taken oldest first, never by id. Thread-safe."""

    kind = FailedKind.ITEM

    def put(self, page_id: bytes, reason: str) -> None:
        """Move a page from the outbox to the rejected items.

        Raises:
            StoreError: there is no room, and the page stays in the outbox.
        """
        if self._scripts.call(Verb.REJECT_ITEMS, page_id, reason[:500], MOST_ITEMS)[0] != 0:
            raise StoreError(
                f"store: {MOST_ITEMS} pages that cannot be stored are laid aside, there is no room for more; "
                f"look at them: crawl-tasks failed list --kind item ({reason})"
            )

    @explained("rejected items")
    def size(self) -> int:
        """Return the number of pages with rejected items."""
        return self._client.xlen(self._keys.rejected)

    def list(self, chosen: Selection = ANY) -> Iterator[RejectedItem]:
        """Return the rejected items, the oldest first."""
        with explained("rejected items"):
            entries = cast(
                "list[tuple[bytes, dict[bytes, bytes]]]", self._client.xrange(self._keys.rejected, count=MOST_ITEMS)
            )
        for entry_id, values in entries:
            if not chosen.ids or entry_id.decode() in chosen.ids:
                at_ms = int(entry_id.partition(b"-")[0])
                yield RejectedItem(entry_id.decode(), at_ms, values[b"reason"].decode(), values[b"items"])

    def _take(self, chosen: Selection, *, back: bool) -> int:
        total, taken = 0, 1
        # Counted beforehand: a page that is put back and fails again meanwhile would be taken without end.
        wanted = min(chosen.most, self.size())
        while wanted > total and taken:
            _, taken = ints(self._scripts.call(Verb.REQUEUE_REJECTED, min(wanted - total, _ITEMS_AT_ONCE), int(back)))
            total += taken
        return total


class RejectedMessages(DeadLetters):
    """Rejected messages of the queues, or rejected start entries. One list holds both, the newest first."""

    has_ids = True

    def __init__(self, kind: FailedKind, client: redis.Redis, scripts: Scripts, keys: Keys, start_key: str) -> None:
        super().__init__(client, scripts, keys)
        self.kind = kind
        self._start_key = start_key or f"{keys.prefix}:start"

    def list(self, chosen: Selection = ANY) -> Iterator[RejectedMessage]:
        """Return the entries, the newest first, or those whose ids begin with the chosen ones."""
        with explained("rejected messages"):
            texts = cast("list[bytes]", self._client.lrange(f"{self._keys.prefix}:refused", 0, MOST_MESSAGES - 1))
        entries = [entry for entry in map(read_rejected, texts) if entry.kind is self.kind]
        if not chosen.ids:
            yield from entries
        for beginning in chosen.ids:
            fitting = {entry.id: entry for entry in entries if entry.id.startswith(beginning)}
            if len(fitting) != 1:
                raise self._unknown(beginning, len(fitting))
            yield from fitting.values()

    def _take(self, chosen: Selection, *, back: bool) -> int:
        how, ids = "retry" if back else "drop", [entry.id for entry in self.list(chosen)]
        if not ids:
            return 0  # the script would take all of the list, messages and start entries
        reply = self._scripts.call(Verb.DISCARD_REJECTED, how, self._start_key, *ids)
        _, handled, other = cast("tuple[int, int, bytes]", reply)
        if other:
            raise BackendError(
                f"{len(ids) - handled} start entries stay rejected: {self._start_key} is a {other.decode()}, where"
                " nothing can wait; rename that key, or name another in CRAWL_START_KEY"
            )
        return handled


class Failed:
    """The dead letters of one Redis, by kind."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._parts = client, scripts, keys
        self.requests = FailedRequests(*self._parts)
        self.items = RejectedItems(*self._parts)

    def of(self, kind: FailedKind, start_key: str = "") -> DeadLetters:
        """Return the dead letters of a kind. Start entries go back to `start_key`."""
        match kind:
            case FailedKind.PAGE:
                return self.requests
            case FailedKind.ITEM:
                return self.items
        return RejectedMessages(kind, *self._parts, start_key)
