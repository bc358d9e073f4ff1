"""Published sites, which all workers know: publish, pause, drain, resume, and the crawl delay of robots.txt."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import cast

import redis

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.board_names import rest_of_boards, scan_boards
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.replies import BoardTerms, ints, of_published
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.frontier.site_wipe import wipe
from crawl_tasks.frontier.wire.site_terms import TERM_NAMES
from crawl_tasks.model import NOBODY, Operator, Request

_DROPPED_AT_ONCE = 70
_STAGED_AT_ONCE = 150
_APPLIED_AT_ONCE = 50
"""Requests and boards that one script handles: Redis serves nobody else meanwhile."""

_TRIES = 5
"""Publications of a site that may come between ours before we give up."""

MOST_SHORT = 100
"""Threads of a site with few of their replies that are remembered."""

_MOVED, _BEING_REMOVED, _BEING_ERASED, _BEING_WIPED = 3, 4, 5, 6  # publish.lua
_ON_ITS_WAY = -2  # remove_site.lua

_REFUSALS = {
    _MOVED: "has moved to another cell, or is on its way; give this process the CRAWL_REDIS_URL of the others, or"
    " finish the move: crawl-tasks sites move",
    _BEING_ERASED: "is being removed with all that is stored of it; wait for its end, or finish it: crawl-tasks sites"
    " remove --data",
    _BEING_WIPED: "is being wiped by a recovery; wait for its end, or finish it: crawl-tasks recover",
}

_NO_TERMS = ("", 0, 0, 0, "", 0)


def _row(board: BoardTerms) -> tuple[str | int, ...]:
    """Return a board as boards.lua reads it."""
    return board.board, board.line, board.start_ms, board.min_ms, board.max_ms, board.full_line, board.full_first_ms


def _flat(terms: Mapping[str, str | int]) -> list[str | int]:
    """Return the terms as publish.lua reads them.

    Raises:
        ValueError: the scripts know no such term.
    """
    if unknown := sorted(terms.keys() - TERM_NAMES):
        raise ValueError(f"no terms of a site: {', '.join(unknown)}; frontier/wire/site_terms.py lists them")
    return list(chain.from_iterable(terms.items()))


class Sites:
    """The published sites of one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    def publish(
        self,
        site: str,
        version: str,
        text: str,
        terms: Mapping[str, str | int],
        boards: Iterable[BoardTerms],
        publisher: str = "",
        signature: str = "",
    ) -> None:
        """Make a site known to all workers, at one instant. New boards are due at once.

        A `publisher`, as host:directory of the site file, brings a removed or withdrawn site back. `renew` knows the
        site again by the `signature` of its boards.

        A removal that was cut off is finished first.

        Raises:
            ConfigError: the site has moved to another cell, or another command has begun that must end first.
            BackendError: others published the site again and again meanwhile, or Redis lost its staged boards.
        """
        flat, boards = _flat(terms), list(boards)
        for _ in range(_TRIES):
            number, known = self._last_publication(site)
            gone = known.difference(board.board for board in boards)
            rows = [*map(_row, boards), *((board, *_NO_TERMS) for board in gone)]
            name, staged = secrets.token_hex(8), 0
            if len(rows) > _APPLIED_AT_ONCE:
                for start in range(0, len(rows), _STAGED_AT_ONCE):
                    portion = chain.from_iterable(rows[start : start + _STAGED_AT_ONCE])
                    full_pass_ms = terms.get("full_pass_ms", 0)
                    staged += ints(self._scripts.call(Verb.STAGE_BOARDS, site, name, full_pass_ms, *portion))[1]
                rows = []
            head = site, version, text, publisher, signature, name, number, _APPLIED_AT_ONCE, staged
            code, left = ints(self._scripts.call(Verb.PUBLISH, *head, len(terms), *flat, *chain.from_iterable(rows)))
            if code == 0:
                if left:
                    self._apply(site)
                return
            if code == _BEING_REMOVED:
                wipe(self._scripts, site)
            elif why := _REFUSALS.get(code):
                raise ConfigError(f"site {site!r} {why}")
        raise BackendError(
            f"site {site} was published by others, or Redis lost boards of it, {_TRIES} times; publish it again"
        )

    def renew(self, site: str, version: str, terms: Mapping[str, str | int], publisher: str, signature: str) -> bool:
        """Publish a site again whose file has not changed, and return whether Redis has it like that."""
        flat = _flat(terms)
        head = site, version, "", publisher, signature, "", "", _APPLIED_AT_ONCE, 0
        code, left = ints(self._scripts.call(Verb.PUBLISH, *head, len(terms), *flat))
        if code == 0 and left:
            self._apply(site)
        return code == 0

    def _apply(self, site: str) -> None:
        while ints(self._scripts.call(Verb.PUBLISH_BOARDS, site, _APPLIED_AT_ONCE))[1]:
            pass

    def _last_publication(self, site: str) -> tuple[int, set[str]]:
        """Return the number of a site's publications, and the boards that it has. Boards are left pending by none."""
        key = self._keys.site(site)
        commands = [("HGET", key, "publications"), ("EXISTS", f"{key}:pending"), scan_boards(key, b"0")]
        number, has_pending, reply = self._scripts.read_all("publication", commands)
        if has_pending:
            # They would be compared as they were before that publication.
            self._apply(site)
            return self._last_publication(site)
        return int(cast("bytes | None", number) or 0), rest_of_boards(self._scripts, key, reply)

    @explained("published")
    def published(self, site: str) -> str | None:
        """Return the site file of a published site as JSON, or None."""
        text: object = self._client.hget(self._keys.sites, site)
        return text.decode() if isinstance(text, bytes) else None

    @explained("old_addresses")
    def old_addresses(self, site: str) -> str:
        """Return the addresses of earlier versions of the site file as JSON, empty without a publication."""
        text = cast("bytes | None", self._client.hget(self._keys.site(site), "old_addresses"))
        return (text or b"").decode()

    @explained("old_rules")
    def old_rules(self, site: str) -> str:
        """Return the versions of the site file with other rules as JSON, empty without a publication."""
        text = cast("bytes | None", self._client.hget(self._keys.site(site), "old_rules"))
        return (text or b"").decode()

    @explained("sites")
    def names(self) -> list[str]:
        """Return the names of the published sites, in order."""
        names = cast(list[bytes], self._client.hkeys(self._keys.sites))
        return sorted(name.decode() for name in names)

    @explained("site")
    def is_published(self, site: str) -> bool:
        """Return whether a site is published here."""
        return bool(self._client.hexists(self._keys.sites, site))

    @explained("decisions")
    def has_decisions(self, site: str) -> bool:
        """Return whether an operator decided anything about a site here."""
        return bool(self._client.exists(self._keys.decisions(site)))

    @explained("site")
    def moved_to(self, site: str) -> str:
        """Return the cell that a site has moved to from here, or nothing."""
        return (cast("bytes | None", self._client.hget(self._keys.moved, site)) or b"").decode()

    @explained("site")
    def is_frozen(self, site: str) -> bool:
        """Return whether a site that moves is frozen here."""
        return bool(self._client.exists(f"{self._keys.site(site)}:frozen"))

    @explained("sites that move")
    def leaving(self) -> dict[str, str]:
        """Return the sites that are moving to other cells, each with the name of that cell."""
        moves = cast("dict[bytes, bytes]", self._client.hgetall(self._keys.leaving))
        return {name.decode(): move.decode().partition(" ")[2] for name, move in moves.items()}

    def require_no_move(self, site: str) -> None:
        """Let the callers for a site that is being moved come again.

        Raises:
            BackendError: the site is on its way to another cell.
        """
        if site in self.leaving():
            raise BackendError(f"site {site!r} is on its way to another cell")

    @explained("watched_since_ms")
    def watched_since_ms(self, site: str) -> int:
        """Return the time of a site's first publication in ms of Redis' clock, 0 without one."""
        moved, since = cast("list[bytes | None]", self._client.hmget(self._keys.site(site), "watched", "since"))
        return int(moved or since or 0)

    @explained("publisher")
    def publisher(self, site: str) -> str:
        """Return the host:directory whose file was published last, empty after a recovery."""
        text = cast("bytes | None", self._client.hget(self._keys.site(site), "publisher"))
        return (text or b"").decode()

    def pause(self, site: str, by: Operator = NOBODY) -> None:
        """Lease nothing of a site any more. Pages that are being fetched end.

        Raises:
            ConfigError: no such site is published.
        """
        self._decide(site, "pause", by)

    def resume(self, site: str, by: Operator = NOBODY) -> None:
        """End the pause or the drain of a site.

        Raises:
            ConfigError: no such site is published.
        """
        self._decide(site, "run", by)

    def drain(self, site: str, by: Operator = NOBODY) -> None:
        """Begin no scan of a site any more, and finish the open requests. `resume` ends the drain.

        Raises:
            ConfigError: no such site is published.
        """
        self._decide(site, "drain", by)

    def apply_decision(self, site: str) -> None:
        """Let a restored site run, pause or drain by the last decision of an operator.

        Raises:
            ConfigError: no such site is published.
        """
        self._decide(site, "", NOBODY)

    def _decide(self, site: str, gate: str, by: Operator) -> None:
        """Set the gate, and make boards due that a pause put off, some at a time: there may be a hundred thousand."""
        cursor: int | str = ""
        while cursor != 0:
            _, _, cursor = of_published(site, self._scripts.call(Verb.PAUSE, site, gate, *by, cursor))

    def remove(self, site: str, by: Operator = NOBODY, *, erases: bool = False) -> str:
        """Publish a site no more. Nothing of it is leased, committed or scanned from now on.

        Until the site is wiped, and with `erases` until `admin.restore.Restore.end_removal`, it cannot be published.
        Return the token of this removal.

        Raises:
            ConfigError: no such site is published, and none was removed, or it is on its way to another cell.
        """
        token = secrets.token_hex(8)
        reply = self._scripts.call(Verb.REMOVE_SITE, site, *by, token, int(erases))
        if reply[0] == _ON_ITS_WAY:
            raise ConfigError(f"site {site!r} is on its way to another cell; finish that first: crawl-tasks sites move")
        of_published(site, reply)
        return token

    def withdraw(self, site: str, publisher: str, by: Operator = NOBODY) -> bool:
        """Begin no scan of a site any more that this publisher published. Return whether it did so far.

        Raises:
            ConfigError: no such site is published.
        """
        return of_published(site, self._scripts.call(Verb.WITHDRAW, site, publisher, by.who))[1] == 1

    def flush_guard(self, site: str, by: Operator = NOBODY) -> None:
        """Flush the duplicate guard of a site: every page that is listed is new again.

        Raises:
            ConfigError: no such site is published.
        """
        cursor = 0
        while True:
            code, following = self._scripts.call(Verb.FLUSH_GUARD, site, cursor, *by)
            of_published(site, [code])
            cursor = int(cast(bytes, following))
            if cursor == 0:
                return

    def flush_queue(self, site: str) -> int:
        """Drop the requests of a site that nobody has begun, and return their number.

        Raises:
            ConfigError: no such site is published.
        """
        total = 0
        while dropped := of_published(site, self._scripts.call(Verb.FLUSH_QUEUE, site, _DROPPED_AT_ONCE))[1]:
            total += dropped
        return total

    def run_only(self, sites: Iterable[str], for_ms: int) -> None:
        """Let all sites but these stand still for a time. 0 lets all go on."""
        self._scripts.call(Verb.RUN_ONLY, for_ms, *sites)

    def note_validation(self, site: str, text: str) -> None:
        """Remember how the pages of a site contradict each other. An empty text ends the contradiction."""
        # A site that was removed meanwhile contradicts nothing.
        self._scripts.call(Verb.NOTE_VALIDATION, site, text[:300])

    def note_threads(
        self, site: str, threads: Mapping[str, str], again: Iterable[Request] = (), *, is_all: bool = False
    ) -> int:
        """Remember threads of which fewer replies are stored than their lists count. An empty text ends that.

        With `is_all` the site has no others. Return the number of requests of `again` that are made: each once for a
        revision, and few where many threads stay as they are.
        """
        lines = {request.key: line_of(request) for request in again}
        rows = [part for key, text in threads.items() for part in (key, text[:300], lines.get(key, ""))]
        return ints(self._scripts.call(Verb.NOTE_THREADS, site, MOST_SHORT, int(is_all), *rows))[1]

    def set_crawl_delay(self, site: str, crawl_delay_s: float) -> None:
        """Apply the Crawl-delay of a site's robots.txt to all workers. 0 means none.

        Raises:
            ConfigError: no such site is published.
        """
        of_published(site, self._scripts.call(Verb.SET_CRAWL_DELAY, site, round(crawl_delay_s * 1000)))
