"""Ledger entries: requests as the text that Redis holds. wire/entry_format.py describes the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

import orjson

from crawl_tasks.frontier.wire.entry_format import Flag
from crawl_tasks.frontier.wire.guard_marks import REST_BITS, REVISIONS, SOURCES
from crawl_tasks.model import FULL_REACH, Reach, Request, Stage, Visit
from crawl_tasks.urls import fingerprint, page_hash

_STAGES: Final = {stage.value: stage for stage in Stage}


def payload_of(request: Request) -> str:
    """Return the payload of an entry, which only Python reads: the JSON array [key, page, revision, reach if any]."""
    payload: list[object] = [request.key, request.page, request.revision]
    if request.reach != FULL_REACH:
        payload.append(list(request.reach))
    return orjson.dumps(payload).decode()


def line_of(request: Request, flag: str = "") -> str:
    """Return a request as a line for admission. A `flag` overrides the one that follows from the request."""
    whole = "" if flag else request.reach.whole
    flag = flag or _flag_of(request)
    mark = "!" if flag == Flag.HIDDEN else ""
    word = guard_word(request, f"~{whole}" if whole else mark)
    return f"{word} {flag} {request.stage} {request.priority} {request.address} {payload_of(request)}"


def guard_address(stage: str, key: str, page: int) -> int:
    """Return the 40-bit number by which the guard finds a page in any revision."""
    return page_hash(stage, key, page) >> REST_BITS


def _flag_of(request: Request) -> Flag:
    if request.reach.whole:
        return Flag.FULL
    if request.only_if_new:
        return Flag.WALK
    if request.only_if_named:
        return Flag.ECHO
    if request.is_again:
        return Flag.AGAIN
    if request.is_ping and not request.is_hidden:
        return Flag.PING
    if request.is_stored or request.is_stored_otherwise:
        # Where the database is the guard, a page that its list calls deleted is known by it.
        return Flag.STORED if request.is_stored or request.is_hidden else Flag.STORED_OTHERWISE
    return Flag.HIDDEN if request.is_hidden else Flag.NEW


def guard_word(request: Request, suffix: str = "") -> str:
    """Return the guard's word for a request: 56 bits of the page's hash, and a mark of the revision and the source.

    A `suffix` makes another revision. Where it names a full pass, the mark that scans would have made is behind a
    slash, and behind that of an echo the fingerprint of the request: see guard.lua.
    """
    stage, key, page = request.stage, request.key, request.page
    address, rest = divmod(page_hash(stage, key, page), 1 << REST_BITS)
    word = f"{address}.{rest}.{_mark(request.revision + suffix, request.source)}"
    if suffix.startswith("~"):
        return f"{word}/{_mark(request.revision, request.source)}"
    return f"{word}/{fingerprint(stage, key, page, request.revision)}" if request.only_if_named else word


def _mark(revision: str, source: str) -> int:
    # Zero is kept for "none" in both parts, hence the + 1. surrogatepass: half a character in a page is no error here.
    mark = (crc32(revision.encode("utf-8", "surrogatepass")) % REVISIONS + 1 if revision else 0) * SOURCES
    return mark + (crc32(source.encode("utf-8", "surrogatepass")) % (SOURCES - 1) + 1 if source else 0)


def read_entry(site: str, entry: bytes) -> tuple[int, int, Request]:
    """Return the rid, the attempt and the request of an entry.

    Raises:
        LookupError, ValueError: the text is not an entry.
    """
    rid, stage, priority, attempt, address, payload = entry.decode().split(" ", 5)
    key, page, revision, *rest = orjson.loads(payload)
    # A newer version may have written a longer reach: after a downgrade its requests still end.
    reach = Reach(*rest[0][: len(Reach._fields)]) if rest else FULL_REACH
    request = Request(site, _STAGES[stage], key, address, page, revision, int(priority), reach=reach)
    return int(rid), int(attempt), request


def read_trail(site: str, trail: Sequence[str]) -> tuple[Visit, ...]:
    """Return the visits of a trail, which commit.lua adds to a page's items: commit time, entry, admitted lines.

    Raises:
        ValueError: the text is not a trail.
    """
    at, entry, *lines = trail
    _, stage, priority, _, address, payload = entry.split(" ", 5)
    visits = [_visit(site, stage, priority, address, payload, int(at), is_done=True)]
    for line in lines:
        _, _, stage, priority, address, payload = line.split(" ", 5)
        visits.append(_visit(site, stage, priority, address, payload, int(at), is_done=False))
    return tuple(visits)


def _visit(site: str, stage: str, priority: str, address: str, payload: str, at_ms: int, *, is_done: bool) -> Visit:
    if stage not in _STAGES:
        raise ValueError(f"{stage!r} is no stage")
    key, page, revision, *rest = orjson.loads(payload)
    reach = Reach(*rest[0][: len(Reach._fields)]) if rest else FULL_REACH
    return Visit(site, stage, key, page, address, int(priority), reach, revision, at_ms, is_done)
