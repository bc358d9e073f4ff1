"""What the ledger's verbs take and answer, beside what travels further (model.py)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple, cast

from crawl_tasks.errors import ConfigError


class Refusal(Enum):
    """Why a lease was not given; the names of lease.lua's codes."""

    UNPUBLISHED = -1
    UNKNOWN = -2
    TAKEN = -3
    PAUSED = -4
    WINDOW_FULL = -5
    TOO_EARLY = -6
    STORE_BEHIND = -7
    QUARANTINED = -8


class Moment(StrEnum):
    """When another turn at the gate is asked for: turn.lua's words."""

    LATE = "late"
    NEXT = "next"
    SENT = "sent"


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of requests that asked for admission. `over` were left out because of the threshold."""

    new: int
    known: int
    over: int = 0


class Receipt(NamedTuple):
    """What a commit did: children admitted and known, messages released."""

    new: int
    known: int
    released: int


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tick did and when the next one is worth while. `has_floor` is false when another process ticks."""

    has_floor: bool
    wait_ms: int
    expired: int
    lost: int


@dataclass(frozen=True, slots=True)
class BoardTerms:
    """A board to watch: its first list page with @SCAN@ as revision, and its interval's start and bounds in ms.

    `full_line` is the same of a full pass, the first of which begins after `full_first_ms`; empty, there is none.
    """

    board: str
    line: str
    start_ms: int
    min_ms: int
    max_ms: int
    full_line: str = ""
    full_first_ms: int = 0


def ints(reply: list[object]) -> list[int]:
    """Read a reply that is all numbers, as the scripts' headers promise."""
    return list(map(int, cast("list[int]", reply)))


def of_published(site: str, reply: list[object]) -> list[int]:
    """Read a reply that is all numbers, the first of which says whether the site is published.

    Raises:
        ConfigError: it is not.
    """
    numbers = ints(reply)
    if numbers[0] != 0:
        raise unpublished(site)
    return numbers


def unpublished(site: str) -> ConfigError:
    """Say that a site is not published, and what to do."""
    return ConfigError(f"site {site!r} is not published; `crawl-tasks sites check` publishes what is in config/sites")
