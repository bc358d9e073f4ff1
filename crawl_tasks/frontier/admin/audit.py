"""The audit of the ledger: invariants checked piece by piece, each piece at one instant, and mended on demand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.board_names import known_boards
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.frontier.wire.entry_format import Flag
from crawl_tasks.frontier.wire.guard_marks import ADDRESS_BITS
from crawl_tasks.model import Request, Stage, State

MOST_COUNTED = 2000
"""The most open list pages, and requests held or delayed, for which one script counts the boards' scans."""

_BUCKETS_AT_ONCE = 500
_PAGES_AT_ONCE = 100
_MARK_DIGITS = 7


class Violation(StrEnum):
    """A violated invariant: the same words as in the scripts."""

    UNREADABLE = "unreadable"
    TWICE = "twice"
    UNHELD = "unheld"
    ENTRYLESS = "entryless"
    UNREAD_LIST = "unread_list"
    LOST = "lost"
    UNCOUNTED = "uncounted"
    SCAN = "scan"
    BLANK_BOARD = "blank_board"
    UNSCHEDULED = "unscheduled"
    UNATTENDED = "unattended"
    GUARD = "guard"
    STRANDED = "stranded"
    EMPTY = "empty"
    OUTBOX = "outbox"
    UNSTORED = "unstored"
    BLANK_SITE = "blank_site"
    OTHER_LEDGER = "other_ledger"
    OLDER_LEDGER = "older_ledger"
    UNGUARDED = "unguarded"
    UNLISTED = "unlisted"
    UNSTORED_PAGE = "unstored_page"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Location:
    """A flaw, its place (a request's number, a board, a name), and whether it was mended."""

    flaw: Violation
    where: str
    is_mended: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a site's ledger: the flaws, and the entries as Redis holds them."""

    spots: tuple[Location, ...]
    entries: tuple[bytes, ...]


def places() -> list[str]:
    """Return the names of the places where a site keeps requests, as audit.lua spells them."""
    ready = [f"ready:{stage}:{level}" for stage in Stage for level in range(10)]
    released = [f"released:{stage}" for stage in Stage]
    return ["open", "leased", *released, *ready, "delayed", State.PARKED.value, State.DEAD.value]


class Audit:
    """The audit of one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts, keys: Keys) -> None:
        self._scripts = scripts
        self._keys = keys

    def place(self, site: str, place: str, *, mend: bool) -> Iterator[Piece]:
        """Audit one place of a site. Without the site's terms there are no pieces."""
        cursor = "0"
        while True:
            code, *rest = self._scripts.call(Verb.AUDIT, site, place, cursor, int(mend))
            if code != 0:
                return
            following, flat, entries = rest
            yield Piece(_locations(flat), tuple(cast("list[bytes]", entries)))
            cursor = cast(bytes, following).decode()
            if cursor == "0":
                return

    def sums(self, site: str, *, mend: bool) -> tuple[Location, ...]:
        """Audit a site's balance, boards and schedules."""
        locations: list[Location] = []
        cursor = "0"
        while True:
            code, *rest = self._scripts.call(Verb.AUDIT_SITE, site, cursor, MOST_COUNTED, int(mend))
            if code != 0:
                return (Location(Violation.BLANK_SITE, site),)
            following, flat = rest
            locations += _locations(flat)
            cursor = cast(bytes, following).decode()
            if cursor == "0":
                return tuple(dict.fromkeys(locations))

    def guard(self, site: str) -> Iterator[Location]:
        """Compare the sizes of the guard's tables with their contents. A table that changes meanwhile is left out."""
        names = self._scripts.read_all("guard", [("HKEYS", f"{self._keys.site(site)}:seen")])[0]
        tables = {name.decode().rpartition(":")[0] for name in cast("list[bytes]", names)}
        # The tables of the stages always have these names, also where a damaged hash lacks them.
        for table in sorted(tables.union(Stage)):
            yield from self._table(site, table)

    def guard_entries(self, site: str, stage: Stage) -> Iterator[int]:
        """Yield the addresses of a stage's exact and rolling tables without the marks, 40 bits each."""
        key = f"{self._keys.site(site)}:seen"
        [fields] = self._scripts.read_all("guard", [("HKEYS", key)])
        tables = {name.decode().rpartition(":")[0] for name in cast("list[bytes]", fields)}
        for table in sorted(name for name in tables if re.fullmatch(rf"{stage}(#\d+)?(@\d+)?", name)):
            [buckets] = self._scripts.read_all("guard", [("HGET", key, f"{table}:m")])
            count = int(cast("bytes | None", buckets) or 1)
            for first in range(0, count, _BUCKETS_AT_ONCE):
                numbers = range(first, min(count, first + _BUCKETS_AT_ONCE))
                for members in self._scripts.read_all(
                    "guard", [("SMEMBERS", f"{key}:{table}:{number}") for number in numbers]
                ):
                    yield from map(_address_of, cast("list[bytes]", members))

    def boards(self, site: str) -> set[str]:
        """Return the boards that the ledger knows."""
        return known_boards(self._scripts, self._keys, site)

    def _table(self, site: str, table: str) -> Iterator[Location]:
        counted, sizes, first = 0, set[tuple[int, int]](), 0
        while True:
            reply = self._scripts.call(Verb.AUDIT_GUARD, site, table, first, _BUCKETS_AT_ONCE)
            if reply[0] != 0:
                return
            _, here, claimed, buckets = cast("list[int]", reply)
            sizes.add((claimed, buckets))
            counted, first = counted + here, first + _BUCKETS_AT_ONCE
            if first >= buckets:
                break
        # Several sizes: the table grew between the calls, and the sum of the counts belongs to no instant.
        if len(sizes) == 1 and counted != claimed:
            yield Location(Violation.GUARD, f"{table} holds {counted} of {claimed}")

    def pairs(self, of: str, *, mend: bool) -> Iterator[Location]:
        """Audit messages of other programs (`unacked`) or claimed start entries (`claims`)."""
        # Each way alone would miss the half of the pairs whose other side is gone.
        for side in ("hash", "times"):
            cursor = "0"
            while True:
                _, following, flat = self._scripts.call(Verb.AUDIT_PAIRS, of, side, cursor, int(mend))
                yield from _locations(flat)
                cursor = cast(bytes, following).decode()
                if cursor == "0":
                    break

    def items(self, sites: Sequence[str]) -> Iterator[tuple[str, Location]]:
        """Audit the pages that wait for the store, and those of sites that neither are stored nor wait.

        A key of theirs was deleted. Pages of an earlier site of the same name, which was removed, are not among them.
        """
        fields = ("since", *(f"done:{stage}" for stage in Stage))
        counted = self._scripts.read_all("sites", [("HMGET", self._keys.site(site), *fields) for site in sites])
        numbers = [[int(value or 0) for value in cast("list[bytes | None]", of_site)] for of_site in counted]
        since_ms = {site: since for site, (since, *_) in zip(sites, numbers, strict=True)}
        waiting = Counter[str]()
        for key in (self._keys.outbox, self._keys.rejected):
            is_outbox = key == self._keys.outbox
            for page_id, text in self._pages(key):
                site = _site_of(text)
                if site in since_ms:
                    waiting[site] += int(page_id.partition(b"-")[0]) >= since_ms[site]
                if is_outbox and not _is_readable(text):
                    yield "", Location(Violation.OUTBOX, page_id.decode())
        # Read last: a page that was stored meanwhile is counted twice, and none too little.
        stored = self._scripts.read_all("sites", [("HGET", self._keys.site(site), "stored") for site in sites])
        for site, (_, *done), of_site in zip(sites, numbers, cast("list[bytes | None]", stored), strict=True):
            if of_site is not None and (lost := sum(done) - int(of_site) - waiting[site]) > 0:
                yield site, Location(Violation.UNSTORED, f"{lost} pages")

    def _pages(self, key: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pages of the outbox or rejected ones: the time of the commit, as the id has it, and the items."""
        start = b"-"
        while True:
            command = ("XRANGE", key, start, b"+", "COUNT", _PAGES_AT_ONCE)
            pages = cast("list[tuple[bytes, list[bytes]]]", self._scripts.read_all("outbox", [command])[0])
            for page_id, values in pages:
                record = dict(zip(values[::2], values[1::2], strict=True))
                yield record.get(b"at", page_id), record.get(b"items", b"")
            if len(pages) < _PAGES_AT_ONCE:
                return
            start = b"(" + pages[-1][0]

    def unknown(self, site: str, requests: Sequence[Request]) -> list[Request]:
        """Return the requests that the guard does not know."""
        code, *places = self._scripts.call(
            Verb.FIND_UNKNOWN, site, *(line_of(request, Flag.KNOWN) for request in requests)
        )
        return [requests[cast(int, place)] for place in places] if code == 0 else []


def _address_of(member: bytes) -> int:
    """Return the address of a member: all digits but those of its mark, half of them below 0. See guard/tables.lua."""
    number = int(member[:-_MARK_DIGITS])
    return -1 - number if number < 0 else number + (1 << (ADDRESS_BITS - 1)) - 1


def _is_readable(text: bytes) -> bool:
    try:
        read_items(text)
    except (BackendError, LookupError):
        return False
    return True


def _site_of(text: bytes) -> str:
    return text.split(b'"', 2)[1].decode() if text.startswith(b'["') else ""


def _locations(flat: object) -> tuple[Location, ...]:
    values = cast("list[bytes]", flat)
    return tuple(
        Location(
            Violation(values[i].decode()),
            values[i + 1].decode("utf-8", "replace"),
            is_mended=cast(int, values[i + 2]) == 1,
        )
        for i in range(0, len(values), 3)
    )
