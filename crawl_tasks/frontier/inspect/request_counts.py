"""Request counts of one site, taken from the real structures, and the ledger's balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from crawl_tasks.model import Stage

LATE_MS = 60_000
"""The time in ms after which an overdue board is late."""


_STAGE_AT = tuple((stage, 3 * i) for i, stage in enumerate(Stage))
_BOARDS = 6 + 3 * len(Stage) + 1
_FIELDS = _BOARDS + 10
"""The places in the reply of count_requests.lua where the boards begin, and the fields of the site's hash."""


@dataclass(frozen=True, slots=True)
class StageCount:
    """The numbers of a stage's requests that are ready, on a queue, or done."""

    ready: int
    released: int
    done: int


@dataclass(frozen=True, slots=True)
class ScanCounts:
    """The numbers of a site's boards: in all, being scanned, never scanned, overdue, late.

    An overdue board was due and could not be scanned. A late board has been overdue for `LATE_MS`.
    `overdue_since_ms` is the due time of the first overdue board (Redis' clock), 0 without one.
    Page 1 of a `parked` or `dead` board was given up, an operator holds those `held`, and no page comes of those that
    are `waiting`.
    """

    total: int = 0
    scanning: int = 0
    unscanned: int = 0
    overdue: int = 0
    late: int = 0
    overdue_since_ms: int = 0
    parked: int = 0
    dead: int = 0
    held: int = 0
    waiting: int = 0

    @property
    def on_time(self) -> int:
        """Return the number of boards that are not late, and of which pages come."""
        return max(0, self.total - self.late - self.parked - self.dead - self.held - self.waiting)


class UnwatchedState(StrEnum):
    """The reasons why a board is not watched: page 1 was given up, its threads are gone, or an operator holds it."""

    PARKED = "parked"
    DEAD = "dead"
    EMPTY = "empty"
    HELD = "held"


class UnwatchedBoard(NamedTuple):
    """A board of which nobody would see anything new, since when (ms, Redis' clock), and the reason of a failure."""

    board: str
    trouble: UnwatchedState
    since_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The numbers of a site's requests by state, at one instant. `fields` are the terms and counters as stored.

    `stats` are counters and histograms for monitoring. `guarded` is the number of addresses in the guard. The gate lets
    nothing go before `opens_at_ms` (Redis' clock). `unwatched` are boards that nobody watches, about a hundred at most.
    """

    site: str
    admitted: int
    delayed: int
    parked: int
    dead: int
    leased: int
    held: int
    stages: Mapping[Stage, StageCount]
    fields: Mapping[str, str]
    stats: Mapping[str, int] = field(default_factory=dict)
    guarded: int = 0
    boards: ScanCounts = ScanCounts()
    opens_at_ms: int = 0
    unwatched: tuple[UnwatchedBoard, ...] = ()

    # Lists and no generators: a look at a thousand sites reads each of these sums ten times.

    @property
    def ready(self) -> int:
        """Return the number of requests in the ready lists."""
        return sum([count.ready for count in self.stages.values()])

    @property
    def released(self) -> int:
        """Return the number of requests on a queue."""
        return sum([count.released for count in self.stages.values()])

    @property
    def done(self) -> int:
        """Return the number of requests that ended well."""
        return sum([count.done for count in self.stages.values()])

    @property
    def open(self) -> int:
        """Return the number of requests that will still be worked on without a person's help."""
        return self.ready + self.released + self.leased + self.delayed

    @property
    def is_balanced(self) -> bool:
        """Return whether every admitted request is in exactly one state."""
        return not self.imbalance()

    def imbalance(self) -> str:
        """Return a sentence for each sum that does not add up. Empty means that the ledger balances."""
        released, done = self.released, self.done
        total = self.ready + released + self.leased + self.delayed + self.parked + self.dead + done
        if total == self.admitted and self.held == released + self.leased:
            return ""
        faults = []
        if total != self.admitted:
            waiting = f"ready {self.ready} + released {self.released} + leased {self.leased} + delayed {self.delayed}"
            ended = f"parked {self.parked} + dead {self.dead} + done {self.done}"
            faults.append(f"{self.site}: admitted {self.admitted}, but {waiting} + {ended} = {total}")
        if self.held != self.released + self.leased:
            faults.append(
                f"{self.site}: {self.held} entries are held for released {self.released} + leased {self.leased}"
            )
        return "; ".join(faults)

    def count(self, field: str) -> int:
        """Return one counter, 0 without a count."""
        return int(self.fields.get(field, "0"))


def read_counts(site: str, reply: object) -> RequestCounts:
    """Return the counts of a site from a reply of count_requests.lua."""
    if not isinstance(reply, bytes):
        raise TypeError(f"count_requests.lua gave {reply!r} where a text belongs")
    # One text for a site: redis-py reads one value ten times faster than as many values.
    words = reply.decode().split("\0")
    admitted, delayed, parked, dead, leased, held, *stages = map(int, words[:_BOARDS])
    stats = _FIELDS + int(words[_FIELDS - 1])
    lines = words[_FIELDS - 3]
    unwatched = tuple(map(_unwatched, lines.split("\n"))) if lines else ()
    return RequestCounts(
        site=site,
        admitted=admitted,
        delayed=delayed,
        parked=parked,
        dead=dead,
        leased=leased,
        held=held,
        stages={stage: StageCount(*stages[i : i + 3]) for stage, i in _STAGE_AT},
        fields=dict(zip(words[_FIELDS:stats:2], words[_FIELDS + 1 : stats : 2], strict=True)),
        stats=dict(zip(words[stats::2], map(int, words[stats + 1 :: 2]), strict=True)),
        guarded=stages[-1],
        boards=_boards(words[_BOARDS : _FIELDS - 4], unwatched),
        opens_at_ms=int(words[_FIELDS - 2]),
        unwatched=unwatched,
    )


def _boards(words: Sequence[str], unwatched: Sequence[UnwatchedBoard]) -> ScanCounts:
    boards = ScanCounts(*map(_whole, words))
    if not unwatched:
        return boards
    troubles = Counter(board.trouble for board in unwatched)
    parked, dead, held = (
        troubles[state] for state in (UnwatchedState.PARKED, UnwatchedState.DEAD, UnwatchedState.HELD)
    )
    # The ledger counts a parked board as overdue too, since its scan never ends.
    return replace(boards, late=max(0, boards.late - parked), parked=parked, dead=dead, held=held)


def _unwatched(line: str) -> UnwatchedBoard:
    since, trouble, reason, board = line.split(" ", 3)
    return UnwatchedBoard(board, UnwatchedState(trouble), int(since), reason)


def _whole(text: str) -> int:
    # The score of a zset may have a fraction.
    return int(text) if text.isdigit() else round(float(text))
