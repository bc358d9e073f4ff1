"""Recent pages: the last attempts of a site, well or failed, for monitoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import redis

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.model import Stage

MOST: Final = 20
"""The number of attempts shown. note_recent() of site.lua keeps at least so many."""


@dataclass(frozen=True, slots=True)
class RecentPage:
    """An attempt that ended at `at_ms` (Redis' clock). `status` is 0 without an answer.

    `outcome` is the number of items of the page, as digits, or a word with the reason for none. The address may be cut.
    """

    at_ms: int
    stage: Stage
    status: int
    fetch_ms: int
    outcome: str
    address: str


def read_recent(client: redis.Redis, keys: Keys, site: str) -> list[RecentPage]:
    """Return the last pages of a site, the newest first."""
    return list(map(_read, cast("list[bytes]", client.lrange(f"{keys.site(site)}:recent", 0, MOST - 1))))


def _read(text: bytes) -> RecentPage:
    at_ms, stage, status, fetch_ms, outcome, address = text.decode("utf-8", "replace").split(" ", 5)
    return RecentPage(int(at_ms), Stage(stage), int(status), int(fetch_ms), outcome, address)
