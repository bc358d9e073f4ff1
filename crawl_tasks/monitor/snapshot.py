"""What an installation looks like at one moment; everything that shows or judges a crawl starts from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from crawl_tasks.frontier.census import Boards, Census
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.gauges import Process, Vitals
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS, Histogram, merged, read_histogram
from crawl_tasks.model import Kind, Stage
from crawl_tasks.queues import QUEUES

ALIVE_MS = 35_000
"""A process that was silent for longer counts as gone: three signs of life missed."""

BEAT_SILENT_MS = 60_000
"""Beat looks for due boards every few seconds; after a minute without, nobody does."""


@dataclass(frozen=True, slots=True)
class Shut:
    """A stage whose pages could not be read: since when, for which reason, and when a probe goes next."""

    since_ms: int
    reason: str
    probe_at_ms: int


@dataclass(frozen=True)
class SiteSnapshot:
    """One site, as the ledger and its counters say."""

    name: str
    census: Census
    boards: Boards

    @property
    def is_paused(self) -> bool:
        """Say whether an operator has stopped it."""
        return self.census.fields.get("paused") == "1"

    @property
    def is_draining(self) -> bool:
        """Say whether no scan is begun while what is open is finished."""
        return self.census.fields.get("draining") == "1"

    def rests_s(self, now_ms: int) -> float:
        """Say for how long the gate lets nothing go: Retry-After, quiet hours, a spent budget; 0 while it does."""
        return max(0, self.census.opens_at_ms - now_ms) / 1000

    @property
    def capped(self) -> dict[str, int]:
        """Count the links that a cap of the site left out, by cap."""
        return self._grouped.get("capped", {})

    @property
    def slowdown(self) -> int:
        """Say how many times slower than its file says the site is asked: 1 to 64."""
        return 1 << int(self.census.fields.get("slow", "0").partition(" ")[0])

    @cached_property
    def quarantined(self) -> dict[Stage, Shut]:
        """Give the stages that the breaker has shut."""
        shut = {}
        for stage in Stage:
            said = self.census.fields.get(f"shut:{stage.value}")
            if said:
                since, probe_at, _, reason = said.split(" ", 3)
                shut[stage] = Shut(int(since), reason, int(probe_at))
        return shut

    @cached_property
    def failed(self) -> dict[str, int]:
        """Count the failed attempts by reason."""
        return dict(sorted(self._counters["failed"].items()))

    @cached_property
    def dropped(self) -> dict[str, int]:
        """Count the items that were not given to the store, by reason."""
        return dict(sorted(self._counters["dropped"].items()))

    @cached_property
    def _counters(self) -> dict[str, dict[str, int]]:
        """Sort the ledger's counters by what stands before the colon, once."""
        groups: dict[str, dict[str, int]] = {"failed": {}, "dropped": {}, "cut": {}, "gone": {}}
        for name, value in self.census.fields.items():
            group, _, rest = name.partition(":")
            if rest and group in groups:
                groups[group][rest] = int(value)
        return groups

    @cached_property
    def fates(self) -> dict[tuple[str, str], int]:
        """Count what followed failed attempts, by fate (delayed, parked, dead) and reason."""
        return {
            (fate, reason): count
            for fate in ("delayed", "parked", "dead")
            for reason, count in self._grouped.get(fate, {}).items()
        }

    @cached_property
    def gone(self) -> int:
        """Count the pages that no longer exist."""
        return sum(self._counters["gone"].values())

    @property
    def cut(self) -> int:
        """Count the pages at which `max_pages` ended a walk that had more."""
        return sum(self.cuts.values())

    @property
    def cuts(self) -> dict[str, int]:
        """Count the same by stage."""
        return self._counters["cut"]

    @property
    def statuses(self) -> dict[str, int]:
        """Count the answers by HTTP status."""
        return self._grouped.get("status", {})

    @cached_property
    def freshness(self) -> Histogram:
        """Give the seconds from posting to storing, of what was posted since the site is watched."""
        return read_histogram(self.census.stats, "fresh", AGES_S)

    @cached_property
    def items(self) -> int:
        """Count the posts and comments that were given to the store."""
        return sum(sum(self._grouped.get(kind.value, {}).values()) for kind in Kind)

    def stat(self, name: str) -> int:
        """Read one statistic, 0 when it was never counted."""
        return self.census.stats.get(name, 0)

    def late_s(self, now_ms: int) -> float:
        """Say for how long the board that waits longest has been due; 0 when none is overdue."""
        since = self.boards.overdue_since_ms
        return max(0, now_ms - since) / 1000 if since else 0.0

    @cached_property
    def _grouped(self) -> dict[str, dict[str, int]]:
        """Sort the statistics by what stands before the colon, once: there are dozens, and a thousand sites."""
        groups: dict[str, dict[str, int]] = {}
        for name, count in self.census.stats.items():
            group, _, rest = name.partition(":")
            groups.setdefault(group, {})[rest] = count
        return groups


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sites at about one moment; each site is counted at exactly one."""

    sites: tuple[SiteSnapshot, ...]
    vitals: Vitals

    @property
    def at_ms(self) -> int:
        """Give the moment, by Redis' clock."""
        return self.vitals.at_ms

    @property
    def queues(self) -> Mapping[str, int]:
        """Count the broker's messages by queue."""
        return self.vitals.queues

    @property
    def outbox(self) -> int:
        """Count the pages whose items are not stored yet."""
        return self.vitals.outbox

    @property
    def starts(self) -> Mapping[str, int]:
        """Count the start entries of other programs by what became of them."""
        return {outcome: self.vitals.starts.get(outcome, 0) for outcome in ("new", "known", "refused")}

    @property
    def done(self) -> int:
        """Count the pages that ended well."""
        return sum(site.census.done for site in self.sites)

    @property
    def open(self) -> int:
        """Count the requests that still have to be worked on."""
        return sum(site.census.open for site in self.sites)

    @property
    def failed(self) -> int:
        """Count the attempts that failed."""
        return sum(sum(site.failed.values()) for site in self.sites)

    @property
    def given_up(self) -> int:
        """Count the requests that wait for a person: dead or parked."""
        return sum(site.census.dead + site.census.parked for site in self.sites)

    @property
    def processes(self) -> list[Process]:
        """Give the worker processes that live."""
        return [process for process in self.vitals.processes if self.at_ms - process.at_ms <= ALIVE_MS]

    @property
    def is_beat_alive(self) -> bool:
        """Say whether due boards are being looked for."""
        return self.at_ms - self.vitals.produced_at_ms <= BEAT_SILENT_MS

    def done_of(self, stage: Stage) -> int:
        """Count the pages of a stage that ended well."""
        return sum(site.census.stages[stage].done for site in self.sites)

    def total(self, name: str) -> int:
        """Add one statistic up over all sites."""
        return sum(site.stat(name) for site in self.sites)

    def workers_of(self, queue: str) -> int:
        """Count the living processes that serve a queue."""
        return sum(queue in process.queues for process in self.processes)

    def times(self, what: str, stage: Stage) -> Histogram:
        """Give the ms of a stage's `fetch`, `parse` or `wait` (from release to lease), over all sites."""
        return read_histogram(self.vitals.counters, f"{what}:{stage.value}", TIMES_MS)

    def lateness(self) -> Histogram:
        """Give the seconds from when boards were due to when their scans were admitted."""
        return read_histogram(self.vitals.counters, "late", AGES_S)

    def freshness(self) -> Histogram:
        """Give the seconds from posting to storing, over all sites."""
        return merged([read_histogram({}, "fresh", AGES_S), *(site.freshness for site in self.sites)])


def take_snapshot(frontier: Frontier, sites: Sequence[str] = ()) -> Snapshot:
    """Look at the sites that were named, or all that are published.

    Raises:
        ConfigError: a site is not published.
        RedisUnreachable: Redis does not answer.
    """
    names = list(sites) or frontier.sites.names()
    vitals = frontier.vitals(QUEUES)
    forgotten = forgotten_boards(vitals)
    return Snapshot(
        sites=tuple(site_snapshot(census, forgotten.get(census.site, [])) for census in frontier.censuses(names)),
        vitals=vitals,
    )


def forgotten_boards(vitals: Vitals) -> dict[str, list[int]]:
    """Give by site since when boards were due that nobody has looked at."""
    forgotten: dict[str, list[int]] = {}
    for name, due_ms in vitals.forgotten:
        forgotten.setdefault(name, []).append(due_ms)
    return forgotten


def site_snapshot(census: Census, forgotten: Sequence[int]) -> SiteSnapshot:
    """Say how a site stands, its forgotten boards counted in."""
    return SiteSnapshot(census.site, census, with_forgotten(census.boards, forgotten))


def with_forgotten(boards: Boards, due_ms: Sequence[int]) -> Boards:
    """Count in the boards that were due long ago and that nobody has looked at since: beat is silent."""
    if not due_ms:
        return boards
    return replace(
        boards,
        overdue=boards.overdue + len(due_ms),
        late=min(boards.total, boards.late + len(due_ms)),
        overdue_since_ms=min([*due_ms, *([boards.overdue_since_ms] if boards.overdue_since_ms else [])]),
    )
