"""Beside the flow: a lost ledger is forgotten whole and told again what the database knows of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import redis

from crawl_tasks.frontier.answers import ints, of_published
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import Request


class Memory:
    """What recovery asks and tells one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    @explained("epoch")
    def epoch(self) -> str | None:
        """Name the ledger that Redis holds; None when it holds none."""
        text = cast("bytes | None", self._client.get(self._keys.epoch))
        return text.decode() if text is not None else None

    @explained("halt")
    def halted(self) -> str:
        """Say why all sites stand still; empty when they do not."""
        text = cast("bytes | None", self._client.get(self._keys.halt))
        return (text or b"").decode()

    def halt(self, why: str) -> bool:
        """Let all sites stand still for a reason of one line; say whether they did before."""
        return ints(self._scripts.call(Verb.HALT, why))[1] == 1

    def go_on(self) -> bool:
        """Let all sites go on; say whether they stood still."""
        return ints(self._scripts.call(Verb.HALT, ""))[1] == 1

    def seize(self, caller: str, for_ms: int) -> str:
        """Take, or keep, the right to rebuild; give who else has it, or nothing. `for_ms` 0 gives it back."""
        return cast(bytes, self._scripts.call(Verb.SEIZE, caller, for_ms)[1]).decode()

    def forget(self, site: str) -> bool:
        """Forget a site's ledger, guard and boards; published again, it is paused. Say whether it was so before."""
        cursor = "0"
        while True:
            _, following, was_paused = self._scripts.call(Verb.FORGET, site, cursor)
            cursor = cast(bytes, following).decode()
            if cursor == "0":
                return was_paused == 1

    def recall(self, site: str, pages: Iterable[tuple[Request, bool]], newest_ms: int = 0) -> tuple[int, int]:
        """Tell a forgotten ledger of pages, and whether each is open; give how many became ready, how many are known.

        Tokens of leases go on behind `newest_ms`, the newest observation of the site that the database has.

        Raises:
            ConfigError: no such site is published.
        """
        lines = (line_of(request, "!" if is_open else ".") for request, is_open in pages)
        _, ready, known = of_published(site, self._scripts.call(Verb.RECALL, site, newest_ms, *lines))
        return ready, known

    def recall_board(self, site: str, board: str, scan: int, at_ms: int) -> bool:
        """Give a board back the number and the time of its last scan; false when the site has no such board.

        Raises:
            ConfigError: no such site is published.
        """
        reply = self._scripts.call(Verb.RECALL_BOARD, site, board, scan, at_ms)
        return of_published(site, reply)[1] == 1
