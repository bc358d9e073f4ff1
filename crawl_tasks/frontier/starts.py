"""Step 1, from outside: start entries that other programs leave in Redis, claimed, then admitted or refused."""

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
"""Reading a batch takes milliseconds; a claim that is so old belongs to a process that died."""
MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Claim:
    """One entry in our hands; `site` is empty where the entry must name it."""

    id: int
    site: str
    entry: bytes


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a claimed entry means: a request, or the reason why it means none. `waits_in` is the key of its site."""

    claim: Claim
    request: Request | None
    reason: str = ""
    waits_in: str = ""


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of entries: admitted, known, waiting until their site has room, refused."""

    new: int
    known: int
    waiting: int
    refused: int


class Starts:
    """The start entries on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    @explained("start keys")
    def present(self, keys: Sequence[str]) -> list[str]:
        """Give the keys that hold something, in one round trip."""
        pipe = self._client.pipeline(transaction=False)
        for key in keys:
            pipe.exists(key)
        return [key for key, count in zip(keys, pipe.execute(), strict=True) if count]

    def claim(self, key: str, site: str, most: int, takeover_ms: int = TAKEOVER_MS) -> list[Claim]:
        """Take entries, which stay in Redis until they are settled; those that a dead process took come first.

        Raises:
            ConfigError: the key is neither a list nor a set nor a sorted set.
        """
        code, flat, *kind = self._scripts.call(Verb.CLAIM, key, site, most, takeover_ms, MOST_BYTES)
        if code != 0:
            raise ConfigError(f"{key} is a {cast(bytes, kind[0]).decode()}; leave entries in a list, set or sorted set")
        texts = cast("list[bytes | int]", flat)
        return [
            Claim(int(number), cast(bytes, name).decode(), cast(bytes, entry))
            for number, name, entry in zip(texts[::3], texts[1::3], texts[2::3], strict=True)
        ]

    def settle(self, settlements: Iterable[Settlement]) -> Settled:
        """Admit or refuse what was claimed, all at once; what was settled before changes nothing."""
        flat: list[str | int] = []
        for one in settlements:
            meant = ("", one.reason) if one.request is None else (one.request.site, line_of(one.request))
            flat += (one.claim.id, *meant, one.waits_in)
        _, *numbers = self._scripts.call(Verb.SETTLE, *flat)
        return Settled(*(int(cast(int, number)) for number in numbers))
