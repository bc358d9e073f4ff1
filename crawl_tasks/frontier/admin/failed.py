"""Dead letters as values: failed requests, rejected items, rejected messages and start entries, and their choice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from crawl_tasks.frontier.entry import read_entry
from crawl_tasks.model import Request, Stage, State

_ALL: Final = 1 << 40


class FailedKind(StrEnum):
    """The kind of a dead letter."""

    PAGE = "page"
    ITEM = "item"
    MESSAGE = "message"
    START = "start"


class Selection(NamedTuple):
    """Terms that choose dead letters of one kind, all at once. Site, state, reason and stage choose pages only."""

    site: str = ""
    state: State | None = None
    reason: str = ""
    stage: Stage | None = None
    ids: Sequence[str] = ()
    most: int = _ALL

    @property
    def states(self) -> Sequence[State]:
        """Return the chosen states, dead requests first."""
        return [self.state] if self.state else [State.DEAD, State.PARKED]

    def fits(self, failed: FailedRequest) -> bool:
        """Return whether a failed request meets the terms."""
        is_of_kind = self.reason in ("", failed.reason) and self.stage in (None, failed.request.stage)
        return is_of_kind and (not self.ids or str(failed.rid) in self.ids)


ANY: Final = Selection()


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A failed request: given up or parked at `at_ms` (Redis' clock) after `attempts` attempts."""

    rid: int
    state: State
    at_ms: int
    reason: str
    details: str
    attempts: int
    request: Request


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """A page's rejected items as they stood in the outbox, with the time (Redis' clock) and the reason."""

    id: str
    at_ms: int
    reason: str
    items: bytes


@dataclass(frozen=True, slots=True)
class RejectedMessage:
    """A rejected message or start entry. `id` is the SHA-1, `origin` the queue, or `start`."""

    id: str
    origin: str
    reason: str
    content: bytes

    @property
    def kind(self) -> FailedKind:
        """Return whether this is a start entry or a message."""
        return FailedKind.START if self.origin == "start" else FailedKind.MESSAGE


DeadLetter = FailedRequest | RejectedItem | RejectedMessage


def read_failed(site: str, state: State, text: bytes) -> FailedRequest:
    """Return a failed request from the text of bury() and fail.lua: `<ms> <reason> <details>`, newline, entry."""
    head, _, entry = text.partition(b"\n")
    at_ms, _, why = head.decode("utf-8", "replace").partition(" ")
    reason, _, details = why.partition(" ")
    rid, attempts, request = read_entry(site, entry)
    return FailedRequest(rid, state, int(at_ms), reason, details, attempts, request)


def read_rejected(text: bytes) -> RejectedMessage:
    """Return a rejected message from refuse.lua's and refuse_start()'s text: `<origin> <reason>`, newline, content."""
    head, _, content = text.partition(b"\n")
    origin, _, reason = head.decode("utf-8", "replace").partition(" ")
    known_as = hashlib.sha1(text, usedforsecurity=False).hexdigest()
    return RejectedMessage(known_as, origin.rstrip(":"), reason, content)
