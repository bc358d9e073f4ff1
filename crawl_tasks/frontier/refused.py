"""Beside the flow: messages and start entries that nobody can read: looked at, tried again, or let go."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import redis

from crawl_tasks.frontier.answers import ints
from crawl_tasks.frontier.scripts import Scripts, Verb, explained

MOST = 1000
"""So many are kept."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One entry; `id` is its SHA-1, `origin` its queue, or `start`."""

    id: str
    origin: str
    reason: str
    content: bytes


class RefusedList:
    """The list of refused entries on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, prefix: str) -> None:
        self._client = client
        self._scripts = scripts
        self._key = f"{prefix}:refused"

    @explained("refused")
    def all(self) -> list[Refused]:
        """Read all entries, the newest first."""
        return [_read(text) for text in cast("list[bytes]", self._client.lrange(self._key, 0, MOST - 1))]

    def retry(self, ids: Iterable[str], start_key: str) -> int:
        """Put entries back where they came from, start entries to `start_key`; all if none is named."""
        return ints(self._scripts.call(Verb.DISMISS, "retry", start_key, *ids))[1]

    def drop(self, ids: Iterable[str]) -> int:
        """Let go of entries, all if none is named."""
        return ints(self._scripts.call(Verb.DISMISS, "drop", "", *ids))[1]


def _read(text: bytes) -> Refused:
    head, _, content = text.partition(b"\n")
    origin, _, reason = head.decode("utf-8", "replace").partition(" ")
    known_as = hashlib.sha1(text, usedforsecurity=False).hexdigest()
    return Refused(known_as, origin.rstrip(":"), reason, content)
