"""Replies of the ledger's verbs, and their arguments, that no other part of the crawler needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple, cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.model import Lease, Request, State


class NoLease(Enum):
    """The reason why a lease was refused: the names of lease.lua's codes."""

    UNPUBLISHED = -1
    UNKNOWN = -2
    TAKEN = -3
    PAUSED = -4
    WINDOW_FULL = -5
    TOO_EARLY = -6
    STORE_BEHIND = -7
    QUARANTINED = -8


class Moment(StrEnum):
    """The occasion for reserving another slot: reserve_slot.lua's words."""

    LATE = "late"
    NEXT = "next"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Admission:
    """Counts of requests that asked for admission. `over` were left out because of the backlog limit."""

    new: int
    known: int
    over: int = 0


class IdleState(IntEnum):
    """The state of a site after a verb, by lib/idle.lua: open requests, none, or the end of its crawl."""

    OPEN = 0
    IDLE = 1
    ENDED = 2


class NextPage(NamedTuple):
    """The next page of a chain: its message, taken off its queue, and its lease."""

    message: bytes
    lease: Lease


class CommitResult(NamedTuple):
    """Counts of a commit: children admitted and known, messages released.

    `filtered` names known ones, and `next` is the next page of the caller's queues, each if asked and there.
    """

    new: int
    known: int
    released: int
    filtered: tuple[Request, ...] = ()
    idle: IdleState = IdleState.OPEN
    next: NextPage | None = None


class FailResult(NamedTuple):
    """The result of a failed attempt: the state of the request, and that of its site."""

    state: State
    idle: IdleState = IdleState.OPEN


class AckResult(NamedTuple):
    """The result of an acknowledgement: waiting pages that nobody has taken, and sites whose crawl has ended by it.

    `short` are the threads that are noted to have fewer replies than listed, by site.
    """

    untaken: int
    ended: tuple[str, ...] = ()
    short: Mapping[str, frozenset[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Tick:
    """The result of a tick, and the ms until the next one is due. `is_leader` is false when another process ticks.

    `idle` names the sites that an expired lease left without open requests.
    """

    is_leader: bool
    wait_ms: int
    expired: int
    lost: int
    idle: tuple[tuple[str, IdleState], ...] = ()


@dataclass(frozen=True, slots=True)
class BoardTerms:
    """A board's schedule: the line of the first list page with @SCAN@ as revision, the interval and the bounds in ms.

    `full_line` is the same of a full pass, the first of which begins after `full_first_ms`. Empty means no full pass.
    """

    board: str
    line: str
    start_ms: int
    min_ms: int
    max_ms: int
    full_line: str = ""
    full_first_ms: int = 0


def ints(reply: list[object]) -> list[int]:
    """Return a reply of numbers, as the scripts' headers promise."""
    return list(map(int, cast("list[int]", reply)))


def of_published(site: str, reply: list[object]) -> list[int]:
    """Return a reply of numbers, the first of which tells whether the site is published.

    Raises:
        ConfigError: the site is not published.
    """
    numbers = ints(reply)
    if numbers[0] != 0:
        raise unpublished(site)
    return numbers


def unpublished(site: str) -> ConfigError:
    """Return the error for a site that is not published, with the remedy."""
    return ConfigError(f"site {site!r} is not published; `crawl-tasks sites check` publishes what is in config/sites")
