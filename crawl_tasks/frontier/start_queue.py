"""The start queue: start entries that other programs leave in Redis, claimed, then admitted or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import Request

TAKEOVER_MS = 30_000
"""After so long, in ms, a claim belongs to a dead process: reading a batch takes milliseconds."""
MOST_BYTES = 65_536
"""The size of the largest entry that is read. Larger ones are refused."""


def start_key_of(name: str, site: str) -> str:
    """Return the start key of one site: `name:SITE`, or `name` with the site in place of {site}."""
    return name.replace("{site}", site) if "{site}" in name else f"{name}:{site}"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claimed entry. An empty `site` means that the entry must name one."""

    id: int
    site: str
    entry: bytes


@dataclass(frozen=True, slots=True)
class StartResult:
    """The meaning of a claimed entry: requests of one site, or the reason for none. `waits_in` is its start key."""

    claim: Claim
    requests: Sequence[Request]
    reason: str = ""
    waits_in: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """Counts of settled entries: admitted, known, waiting for room in the backlog of their site, refused."""

    new: int
    known: int
    waiting: int
    refused: int


class StartQueue:
    """The start entries on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    @explained("start keys")
    def present(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that hold entries, in one round trip."""
        pipe = self._client.pipeline(transaction=False)
        for key in keys:
            pipe.exists(key)
        return [key for key, count in zip(keys, pipe.execute(), strict=True) if count]

    def claim(self, key: str, site: str, most: int, takeover_ms: int = TAKEOVER_MS) -> list[Claim]:
        """Claim entries, which stay in Redis until they are settled. Claims of dead processes come first.

        Raises:
            ConfigError: the key is neither a list nor a set nor a sorted set.
        """
        code, flat, *kind = self._scripts.call(Verb.CLAIM_STARTS, key, site, most, takeover_ms, MOST_BYTES)
        if code != 0:
            raise ConfigError(f"{key} is a {cast(bytes, kind[0]).decode()}; leave entries in a list, set or sorted set")
        texts = cast("list[bytes | int]", flat)
        return [
            Claim(int(number), cast(bytes, name).decode(), cast(bytes, entry))
            for number, name, entry in zip(texts[::3], texts[1::3], texts[2::3], strict=True)
        ]

    def settle(self, settlements: Iterable[StartResult]) -> Settled:
        """Admit or refuse claimed entries, all at once. A claim that was settled before changes nothing."""
        flat: list[str | int] = []
        for settlement in settlements:
            lines = "\n".join(map(line_of, settlement.requests))
            meant = (settlement.requests[0].site, lines) if settlement.requests else ("", settlement.reason)
            flat += (settlement.claim.id, *meant, settlement.waits_in)
        _, *numbers = self._scripts.call(Verb.ADMIT_STARTS, *flat)
        return Settled(*(int(cast(int, number)) for number in numbers))
