"""Reads of what was given up: the dead and the parked, with when and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import redis

from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.frontier.keys import Keys
from crawl_tasks.model import Request, State


@dataclass(frozen=True, slots=True)
class Grave:
    """A request that was buried or set aside at `at_ms` (Redis' clock) after `attempts` attempts."""

    rid: int
    state: State
    at_ms: int
    reason: str
    details: str
    attempts: int
    request: Request


def read_graves(client: redis.Redis, keys: Keys, site: str, state: State) -> Iterator[Grave]:
    """Stream the dead or the parked of a site, in no order."""
    for _, text in client.hscan_iter(keys.graves(site, state.value), count=200):
        yield read_grave(site, state, text)


def read_grave(site: str, state: State, text: bytes) -> Grave:
    """Read what bury() and fail.lua write: `<ms> <reason> <details>`, newline, entry."""
    head, _, entry = text.partition(b"\n")
    at_ms, _, why = head.decode("utf-8", "replace").partition(" ")
    reason, _, details = why.partition(" ")
    rid, attempts, request = read_entry(site, entry)
    return Grave(rid, state, int(at_ms), reason, details, attempts, request)
