"""A request as the text that stands in the ledger. The format is described in lua/_prelude.lua."""

from __future__ import annotations

import orjson

from crawl_tasks.model import FULL_REACH, Reach, Request, Stage
from crawl_tasks.urls import fingerprint


def payload_of(request: Request) -> str:
    """Give the part of an entry that only Python reads in full, as a JSON array: key, page, revision, reach if any."""
    said: list[object] = [request.key, request.page, request.revision]
    if request.reach != FULL_REACH:
        said.append(list(request.reach))
    return orjson.dumps(said).decode()


def line_of(request: Request) -> str:
    """Write a request as a line that asks for admission."""
    known_as = fingerprint(request.stage.value, request.key, request.page, request.revision)
    flag = "?" if request.only_if_new else "!"
    return f"{known_as} {flag} {request.stage.value} {request.priority} {request.address} {payload_of(request)}"


def read_entry(site: str, entry: bytes) -> tuple[int, int, Request]:
    """Read an entry back: rid, attempt, request.

    Raises:
        ValueError: the text is not an entry.
    """
    rid, stage, priority, attempt, address, payload = entry.decode().split(" ", 5)
    key, page, revision, *rest = orjson.loads(payload)
    reach = Reach(*rest[0]) if rest else FULL_REACH
    request = Request(
        site, Stage(stage), key, address, page=page, revision=revision, priority=int(priority), reach=reach
    )
    return int(rid), int(attempt), request
