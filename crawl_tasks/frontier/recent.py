"""Beside step 7, commit: the last pages of a site that were fetched, well or not, for whoever looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

import redis

from crawl_tasks.frontier.keys import Keys
from crawl_tasks.model import Stage

MOST: Final = 20
"""The scripts keep at least so many (note_recent)."""


@dataclass(frozen=True, slots=True)
class RecentPage:
    """An attempt that ended at `at_ms` (Redis' clock). `status` is 0 where nothing was answered.

    `outcome` is how many items the page gave, as digits, or in a word why it gave none. The address may be cut off.
    """

    at_ms: int
    stage: Stage
    status: int
    fetch_ms: int
    outcome: str
    address: str


def read_recent(client: redis.Redis, keys: Keys, site: str) -> list[RecentPage]:
    """Read the last pages of a site, the newest first."""
    return list(map(_read, cast("list[bytes]", client.lrange(f"{keys.site(site)}:recent", 0, MOST - 1))))


def _read(text: bytes) -> RecentPage:
    at_ms, stage, status, fetch_ms, outcome, address = text.decode("utf-8", "replace").split(" ", 5)
    return RecentPage(int(at_ms), Stage(stage), int(status), int(fetch_ms), outcome, address)
