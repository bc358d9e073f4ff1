"""The ledger of one site, counted from the real structures, and its balance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crawl_tasks.model import Stage

LATE_MS = 60_000
"""A board that has been overdue for longer is late."""


_STAGE_AT = tuple((stage, 3 * i) for i, stage in enumerate(Stage))
_BOARDS = 6 + 3 * len(Stage) + 1
_FIELDS = _BOARDS + 8
"""Where in the reply of census.lua the boards begin, and the fields of the site's hash."""


@dataclass(frozen=True, slots=True)
class StageCount:
    """Requests of one stage that are waiting, stand on a queue, or are done."""

    ready: int
    released: int
    done: int


@dataclass(frozen=True, slots=True)
class Boards:
    """A site's boards: how many there are, are being scanned, were never scanned, are overdue, are late.

    Overdue is a board that was due and could not be scanned; late is one that has been so for `LATE_MS`.
    `overdue_since_ms` is when the first of them was due (Redis' clock), 0 when none is overdue.
    """

    total: int = 0
    scanning: int = 0
    unscanned: int = 0
    overdue: int = 0
    late: int = 0
    overdue_since_ms: int = 0

    @property
    def on_time(self) -> int:
        """Count the boards that are not late."""
        return self.total - self.late


@dataclass(frozen=True, slots=True)
class Census:
    """A site's requests by state at one instant. `fields` are its terms and counters as stored.

    `stats` are counters and histograms for those who watch; `guarded` is how many fingerprints its guard holds. The
    gate lets nothing go before `opens_at_ms` (Redis' clock).
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
    boards: Boards = Boards()
    opens_at_ms: int = 0

    @property
    def ready(self) -> int:
        """Count what waits in the ready lists."""
        return sum(count.ready for count in self.stages.values())

    @property
    def released(self) -> int:
        """Count what stands on a queue."""
        return sum(count.released for count in self.stages.values())

    @property
    def done(self) -> int:
        """Count what ended well."""
        return sum(count.done for count in self.stages.values())

    @property
    def open(self) -> int:
        """Count what still has to be worked on without anybody's help."""
        return self.ready + self.released + self.leased + self.delayed

    @property
    def is_balanced(self) -> bool:
        """Say whether every admitted request is in exactly one state."""
        return not self.imbalance()

    def imbalance(self) -> str:
        """Describe what does not add up; empty when the ledger balances."""
        total = self.open + self.parked + self.dead + self.done
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
        """Read one counter, 0 when it was never counted."""
        return int(self.fields.get(field, "0"))


def read_census(site: str, reply: object) -> Census:
    """Read what census.lua says of a site."""
    if not isinstance(reply, bytes):
        raise TypeError(f"census.lua gave {reply!r} where a text belongs")
    words = reply.decode().split("\0")
    admitted, delayed, parked, dead, leased, held, *stages = map(int, words[:_BOARDS])
    stats = _FIELDS + int(words[_FIELDS - 1])
    return Census(
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
        boards=Boards(*map(_whole, words[_BOARDS : _FIELDS - 2])),
        opens_at_ms=int(words[_FIELDS - 2]),
    )


def _whole(text: str) -> int:
    return int(text) if text.isdigit() else round(float(text))  # a score may have a fraction
