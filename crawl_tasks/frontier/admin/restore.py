"""Restoring a lost ledger: all of it is wiped, then filled again from the database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

import redis

from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.replies import ints, of_published
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.frontier.site_wipe import overtaken, wipe
from crawl_tasks.frontier.wire.entry_format import Flag
from crawl_tasks.model import Decision, Request

HALF_LIFE_H: Final = 96.0
"""Hours after which an item counts half in a board's rate."""

HOT_H: Final = 0.75
"""Hours in which a burst cools down to 1/e."""


class Scan(NamedTuple):
    """The new items of a scan: their number, and sums over their ages in hours, as `scan_of` makes them."""

    items: int = 0
    heat: float = 0.0
    past: float = 0.0
    oldest_h: float = 0.0


def scan_of(ages_h: list[float]) -> Scan:
    """Return the new items of a scan by their ages."""
    return Scan(
        len(ages_h),
        sum(math.exp(-age / HOT_H) for age in ages_h),
        sum(2 ** (-age / HALF_LIFE_H) for age in ages_h),
        max(ages_h, default=0.0),
    )


class Ages(NamedTuple):
    """What Redis remembers of the database, as set_ages.lua describes it."""

    change: int
    own: int
    drawn: int
    is_older: bool
    walks: bool


class Restore:
    """The verbs of recovery on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    @explained("epoch")
    def epoch(self) -> str | None:
        """Return the epoch of the ledger that Redis holds, or None."""
        text = cast("bytes | None", self._client.get(self._keys.epoch))
        return text.decode() if text is not None else None

    def is_lost(self, kept: str | None) -> bool:
        """Return whether the ledger is lost: the epoch is not `kept`, which the database was filled from."""
        # A database without an epoch was filled from no ledger, so that none can be lost.
        return kept is not None and kept != self.epoch()

    @explained("recoveries")
    def half_built(self) -> set[str]:
        """Return the sites here of which a recovery has begun and not ended."""
        underway = cast("dict[bytes, bytes]", self._client.hgetall(self._keys.underway))
        return {name.decode() for name, work in underway.items() if work.endswith((b" recover", b" restore"))}

    @explained("ages")
    def ages(self) -> Ages:
        """Return what Redis remembers of the database."""
        fields = "change", "own", "drawn", "older", "walks"
        change, own, drawn, older, walks = cast("list[bytes | None]", self._client.hmget(self._keys.ages, *fields))
        return Ages(int(change or 0), int(own or 0), int(drawn or 0), older is not None, walks is not None)

    def set_ages(self, change: int, drawn: int) -> None:
        """Take Redis and the database for of one age."""
        self._scripts.call(Verb.SET_AGES, change, drawn)

    @explained("halt")
    def halted(self) -> str:
        """Return the reason why all sites stand still, empty while they do not."""
        text = cast("bytes | None", self._client.get(self._keys.halt))
        return (text or b"").decode()

    def halt(self, why: str) -> bool:
        """Let all sites stand still for a reason of one line, and return whether they did before."""
        return ints(self._scripts.call(Verb.PAUSE_ALL, why))[1] == 1

    def go_on(self) -> bool:
        """Let all sites go on, and return whether they stood still."""
        return ints(self._scripts.call(Verb.PAUSE_ALL, ""))[1] == 1

    def lock(self, caller: str, for_ms: int) -> str:
        """Take or extend the recovery lock, and return the other holder, or "". `for_ms` 0 releases the lock."""
        return cast(bytes, self._scripts.call(Verb.LOCK_RECOVERY, caller, for_ms)[1]).decode()

    def wipe(self, site: str, token: str = "", *, walks: bool = False) -> None:
        """Wipe a site's ledger, guard and boards, and pause the site. Of a removed site nothing is left.

        A recovery that `walks` over all boards is remembered until its end.

        Raises:
            ConfigError: another command has taken over, also from the removal of this token.
        """
        wipe(self._scripts, site, token, walks=walks)

    def end_removal(self, site: str, token: str, erased: Decision | None = None) -> None:
        """Let a removed site be published again, when what was stored of it is erased.

        Raises:
            ConfigError: another command has taken over.
        """
        if self._scripts.call(Verb.END_REMOVAL, site, token, erased.text if erased else "")[0] != 0:
            raise overtaken(site)

    def restore_requests(self, site: str, pages: Iterable[tuple[Request, bool]], newest_ms: int = 0) -> tuple[int, int]:
        """Fill a wiped ledger with pages, each open or done, and return the numbers of ready and of known ones.

        A page that is done and `is_hidden` is gone. New tokens are above `newest_ms`, the newest observation of the
        site in the database.

        Raises:
            ConfigError: no such site is published.
        """
        lines = (line_of(page, _flag_of(page, is_open=is_open)) for page, is_open in pages)
        _, ready, known = of_published(site, self._scripts.call(Verb.RESTORE_REQUESTS, site, newest_ms, *lines))
        return ready, known

    def restore_board(
        self, site: str, board: str, scan: int, at_ms: int, past: Scan | None = None, by_hour: Sequence[int] = ()
    ) -> bool:
        """Restore the number and the time of a board's last scan, and return whether the site has the board.

        From the items of the `past`, also counted `by_hour` of day, the board learns its rate of news again.

        Raises:
            ConfigError: no such site is published.
        """
        sums = " ".join(f"{value:.6g}" for value in past) if past else ""
        hours = " ".join(map(str, by_hour))
        reply = self._scripts.call(Verb.RESTORE_BOARD, site, board, scan, at_ms, sums, hours)
        return of_published(site, reply)[1] == 1


def _flag_of(page: Request, *, is_open: bool) -> Flag:
    if is_open:
        return Flag.NEW
    return Flag.GONE if page.is_hidden else Flag.KNOWN
