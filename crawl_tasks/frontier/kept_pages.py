"""Kept pages: unreadable pages as evidence for mending a rule, and the circuit breaker closed by hand.

lua/lib/circuit_breaker.lua decides when the breaker of a stage opens.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Final, cast

import orjson
import redis

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.entry import payload_of, read_entry
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import Fetched, Request, Stage

MOST_PAGES: Final = 10
"""The most kept pages of a stage. The oldest one makes room."""

MOST_BYTES: Final = 256 << 10
"""The size of the largest kept page, packed."""

_KEPT_MS: Final = 14 * 86_400_000
# A few packed bytes may unpack to gigabytes.
_MOST_UNPACKED: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class KeptPage:
    """An unreadable page with the reason, and the picture (JPEG) of one that a browser has drawn."""

    rid: int
    request: Request
    page: Fetched
    why: str
    screenshot: bytes = b""


class KeptPages:
    """The kept pages of all stages on one Redis. Thread-safe."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    def keep(self, kept: KeptPage) -> bool:
        """Keep a page, and return whether it is small enough."""
        packed = pack(kept)
        if len(packed) > MOST_BYTES and kept.screenshot:
            packed = pack(replace(kept, screenshot=b""))
        if len(packed) > MOST_BYTES:
            return False
        request = kept.request
        self._scripts.call(Verb.KEEP_PAGE, request.site, request.stage.value, kept.rid, packed, MOST_PAGES, _KEPT_MS)
        return True

    @explained("kept pages")
    def kept(self, site: str, stage: Stage) -> list[KeptPage]:
        """Return the kept pages of a stage, oldest first."""
        order, pages = self._keys.kept(site, stage.value)
        rids = cast("list[bytes]", self._client.zrange(order, 0, -1))
        packed = cast("list[bytes | None]", self._client.hmget(pages, rids)) if rids else []
        return [unpack(site, text) for text in packed if text is not None]

    def reopen(self, site: str, stage: Stage) -> int:
        """Close the open breaker of a stage, retry the requests that the breaker parked, and return their number.

        Raises:
            ConfigError: no such site is published.
        """
        code, revived = cast("list[int]", self._scripts.call(Verb.CLOSE_BREAKER, site, stage.value))
        if code != 0:
            raise ConfigError(f"site {site!r} is not published; `crawl-tasks sites check` publishes config/sites")
        return revived


def pack(kept: KeptPage) -> bytes:
    """Return a kept page as Redis holds it: a line of JSON, then the body, compressed together (zlib)."""
    request, page = kept.request, kept.page
    head = {
        "entry": f"{kept.rid} {request.stage.value} {request.priority} 0 {request.address} {payload_of(request)}",
        "url": page.url,
        "status": page.status,
        "headers": dict(page.headers),
        "at_s": page.at_s,
        "age_s": page.age_s,
        "why": kept.why,
        "screenshot": b64encode(kept.screenshot).decode(),
    }
    return zlib.compress(orjson.dumps(head) + b"\n" + page.body)


def unpack(site: str, packed: bytes) -> KeptPage:
    """Return the kept page of a packed text.

    Raises:
        BackendError: keep() did not write this text.
    """
    try:
        head, _, body = zlib.decompressobj().decompress(packed, _MOST_UNPACKED).partition(b"\n")
        facts = orjson.loads(head)
        rid, _, request = read_entry(site, facts["entry"].encode())
        page = Fetched(facts["url"], facts["status"], facts["headers"], body, facts["at_s"], age_s=facts["age_s"])
        return KeptPage(rid, request, page, facts["why"], b64decode(facts["screenshot"]))
    except (zlib.error, LookupError, TypeError, ValueError) as error:
        raise BackendError(f"a kept page of {site} cannot be read: {error}") from error
