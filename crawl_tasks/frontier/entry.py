"""A request as the text that stands in the ledger. The format is described in lua/_site.lua."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

import orjson

from crawl_tasks.model import FULL_REACH, Reach, Request, Stage, Visit
from crawl_tasks.urls import fingerprint, page_hash

_STAGES: Final = {stage.value: stage for stage in Stage}
_REVISIONS: Final = (1 << 20) - 1033  # 20 bits but those of pages that are gone; ASKED in _guard.lua
_SOURCES: Final = 15  # 4 bits, 0 is none


def payload_of(request: Request) -> str:
    """Give the part of an entry that only Python reads in full, as a JSON array: key, page, revision, reach if any."""
    said: list[object] = [request.key, request.page, request.revision]
    if request.reach != FULL_REACH:
        said.append(list(request.reach))
    return orjson.dumps(said).decode()


def line_of(request: Request, flag: str = "") -> str:
    """Write a request as a line that asks for admission; `flag` is set by who does not leave it to the request."""
    whole = "" if flag else request.reach.whole
    if not flag:
        flag = "~" if whole else "?" if request.only_if_new else "=" if request.only_if_named else "!"
        if flag == "!" and (request.is_again or request.is_hidden):
            flag = "+" if request.is_again else "-"
    word = guard_word(request, f"~{whole}" if whole else "!" if flag == "-" else "")
    return f"{word} {flag} {request.stage} {request.priority} {request.address} {payload_of(request)}"


def guard_word(request: Request, suffix: str = "") -> str:
    """Write what the guard knows a request by: 56 bits of its page's hash, and a mark of its revision and source.

    `suffix` makes another revision of it. Behind the slash stands the fingerprint of version 1 or, where the suffix
    names a full pass, the mark that scans would have made; see _guard.lua.
    """
    stage, key, page = request.stage, request.key, request.page
    revision = request.revision + suffix
    high, low = divmod(page_hash(stage, key, page), 1 << 24)
    of_pass = suffix.startswith("~")
    other = _mark(request.revision, request.source) if of_pass else fingerprint(stage, key, page, revision)
    return f"{high}.{low}.{_mark(revision, request.source)}/{other}"


def _mark(revision: str, source: str) -> int:
    mark = (crc32(revision.encode("utf-8", "surrogatepass")) % _REVISIONS + 1 if revision else 0) << 4
    return mark + (crc32(source.encode("utf-8", "surrogatepass")) % _SOURCES + 1 if source else 0)


def read_entry(site: str, entry: bytes) -> tuple[int, int, Request]:
    """Read an entry back: rid, attempt, request.

    Raises:
        LookupError, ValueError: the text is not an entry.
    """
    rid, stage, priority, attempt, address, payload = entry.decode().split(" ", 5)
    key, page, revision, *rest = orjson.loads(payload)
    reach = Reach(*rest[0][: len(Reach._fields)]) if rest else FULL_REACH
    request = Request(site, _STAGES[stage], key, address, page, revision, int(priority), reach=reach)
    return int(rid), int(attempt), request


def read_trail(site: str, trail: Sequence[str] = ()) -> tuple[Visit, ...]:
    """Read what commit.lua adds to a page's items: when it was done, its entry, the lines that it admitted.

    Raises:
        ValueError: it is none.
    """
    if not trail:  # of an older version
        return ()
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
