"""Beside the flow: what was given up, the dead and the parked, with when and why; and their way back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import redis

from crawl_tasks.frontier.answers import of_published
from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.frontier.scripts import Scripts, Verb, explained
from crawl_tasks.model import Request, Stage, State


@dataclass(frozen=True, slots=True)
class Grave:
    """A request that was buried or parked at `at_ms` (Redis' clock) after `attempts` attempts."""

    rid: int
    state: State
    at_ms: int
    reason: str
    details: str
    attempts: int
    request: Request


class Graves:
    """The dead and the parked on one Redis. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, client: redis.Redis, scripts: Scripts, keys: Keys) -> None:
        self._client = client
        self._scripts = scripts
        self._keys = keys

    @explained("graves")
    def read(self, site: str, state: State) -> Iterator[Grave]:
        """Stream the dead or the parked requests of a site, in no order."""
        for _, text in self._client.hscan_iter(self._keys.graves(site, state.value), count=200):
            yield read_grave(site, state, text)

    def revive(self, site: str, state: State, reason: str = "", stage: Stage | None = None, most: int = 1000) -> int:
        """Make up to `most` dead or parked requests ready again, all or those of a reason or stage; give how many.

        Raises:
            ConfigError: no such site is published.
        """
        return self._go_through(Verb.REVIVE, site, state, reason, stage, most)

    def drop(self, site: str, state: State, reason: str = "", stage: Stage | None = None, most: int = 1000) -> int:
        """Let go of up to `most` dead or parked requests for good, all or those of a reason or stage; give how many.

        Raises:
            ConfigError: no such site is published.
        """
        return self._go_through(Verb.DROP, site, state, reason, stage, most)

    def _go_through(self, verb: Verb, site: str, state: State, reason: str, stage: Stage | None, most: int) -> int:
        """Call a verb until it is through or has handled enough: each call looks at some thousands."""
        handled = cursor = 0
        terms = (site, state.value, reason, stage.value if stage else "")
        while True:
            _, count, cursor = of_published(site, self._scripts.call(verb, *terms, most - handled, cursor))
            handled += count
            if cursor == 0 or handled >= most:
                return handled


def read_grave(site: str, state: State, text: bytes) -> Grave:
    """Read what bury() and fail.lua write: `<ms> <reason> <details>`, newline, entry."""
    head, _, entry = text.partition(b"\n")
    at_ms, _, why = head.decode("utf-8", "replace").partition(" ")
    reason, _, details = why.partition(" ")
    rid, attempts, request = read_entry(site, entry)
    return Grave(rid, state, int(at_ms), reason, details, attempts, request)
