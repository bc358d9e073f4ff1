"""A snapshot: the state of an installation at one moment. All views, metrics and problems start from a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.histogram import AGES_S, TIMES_MS, Histogram, merged, read_histogram
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import Health, Process
from crawl_tasks.model import Stage
from crawl_tasks.monitor.marks import Marks, kept_marks, marks_of_site
from crawl_tasks.monitor.site_snapshot import SiteSnapshot, site_snapshot
from crawl_tasks.queues import QUEUES

ALIVE_MS = 35_000
"""Silence after which a process counts as gone, in milliseconds: three missed signs of life."""

REPLACED_MS = 12_000
"""The same of a process in whose place another one began: one missed sign of life, which come every 10 s."""

MISSED_LOOKS = 4
"""Looks that a sender of alerts must miss to be called silent."""

BEAT_SILENT_MS = 60_000
"""Silence after which beat counts as gone, in milliseconds. Beat looks for due boards every few seconds."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The counts of stored items."""

    posts: int
    comments: int


@dataclass(frozen=True, slots=True)
class DownCell:
    """A cell that does not answer, with the reason, and the sites that stand still for it, as far as they are known."""

    name: str
    reason: str
    sites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sites at about one moment. Each site alone is counted at exactly one moment.

    Where there are several cells, `parts` are the snapshots of those that answer, and each has the name of its `cell`.
    An installation `is_at_rest` whose Redis runs for a single command. `before` are the counters of a quarter of
    an hour ago, where a process that watches has kept them.
    """

    sites: tuple[SiteSnapshot, ...]
    health: Health
    cell: str = ""
    parts: tuple[Snapshot, ...] = ()
    down: tuple[DownCell, ...] = ()
    is_at_rest: bool = False
    before: Marks | None = None

    @property
    def at_ms(self) -> int:
        """Return the moment in ms since the epoch, by the clock of Redis."""
        return self.health.at_ms

    @property
    def has_window(self) -> bool:
        """Return whether rates can be judged in all cells."""
        return all(part.before for part in self.parts or (self,))

    def marks(self) -> Marks:
        """Return the counters that a later snapshot is compared with."""
        waits = {stage: self.times("wait", stage) for stage in Stage}
        return Marks(self.at_ms, self.outbox, {site.name: marks_of_site(site) for site in self.sites}, waits)

    @property
    def queues(self) -> Mapping[str, int]:
        """Count the broker's messages by queue."""
        return self.health.queues

    @property
    def outbox(self) -> int:
        """Count the pages whose items are not stored yet."""
        return self.health.outbox

    @property
    def outbox_age_s(self) -> float:
        """Return for how many seconds the oldest page has waited for the store, 0 where none waits."""
        since = self.health.oldest_item_at_ms
        return max(0, self.at_ms - since) / 1000 if since else 0.0

    @property
    def starts(self) -> Mapping[str, int]:
        """Count the start entries of other programs by outcome: new, known, refused."""
        return {outcome: self.health.starts.get(outcome, 0) for outcome in ("new", "known", "refused")}

    @property
    def done(self) -> int:
        """Count the pages that ended well."""
        return sum(site.counts.done for site in self.sites)

    @property
    def open(self) -> int:
        """Count the requests that still have to be worked on."""
        return sum(site.counts.open for site in self.sites)

    @property
    def moving(self) -> int:
        """Count the open requests that nothing holds back."""
        return sum(site.moving for site in self.sites)

    @property
    def failed(self) -> int:
        """Count the attempts that failed."""
        return sum(sum(site.failed.values()) for site in self.sites)

    @property
    def given_up(self) -> int:
        """Count the requests that wait for a person: dead or parked."""
        return sum(site.counts.dead + site.counts.parked for site in self.sites)

    @property
    def processes(self) -> list[Process]:
        """Return the worker processes that live."""
        return [process for process in self.health.processes if self._lives(process)]

    def _lives(self, process: Process) -> bool:
        """Return whether a process lives: one in whose place another one began counts as gone sooner."""
        silent_ms = self.at_ms - process.at_ms
        if not REPLACED_MS < silent_ms <= ALIVE_MS:
            return silent_ms <= REPLACED_MS
        host = process.name.rpartition(":")[0]
        return not any(
            other.born_ms > process.at_ms and other.queues == process.queues and other.name.rpartition(":")[0] == host
            for other in self.health.processes
        )

    @property
    def start_keys(self) -> list[str]:
        """Return the start keys of the living workers. All should have one."""
        return sorted({process.start_key for process in self.processes if process.start_key})

    @property
    def died(self) -> int:
        """Count the worker processes that began within the last quarter of an hour, and died without a word."""
        alive = {f"{process.name} {process.birth}" for process in self.processes}
        births = self.health.process_health.births.items()
        return sum(name not in alive and self.at_ms - at > REPLACED_MS for name, at in births)

    @property
    def alerts_silent_s(self) -> float:
        """Return for how many seconds a sender of alerts has missed its looks, 0 where none does or none is wanted."""
        process_health = self.health.process_health
        late_ms = self.at_ms - process_health.alerts_at_ms - MISSED_LOOKS * process_health.alerts_every_ms
        return (self.at_ms - process_health.alerts_at_ms) / 1000 if process_health.alerts_at_ms and late_ms > 0 else 0.0

    @property
    def alerts_unsent_s(self) -> float:
        """Return for how many seconds no receiver has taken the messages of a sender of alerts, 0 after a few looks."""
        process_health = self.health.process_health
        since_ms = self.at_ms - process_health.alerts_unsent_at_ms
        is_long = process_health.alerts_unsent_at_ms and since_ms > MISSED_LOOKS * process_health.alerts_every_ms
        return since_ms / 1000 if is_long and not self.alerts_silent_s else 0.0

    @property
    def is_beat_alive(self) -> bool:
        """Return whether due boards are being looked for."""
        return self.at_ms - self.health.produced_at_ms <= BEAT_SILENT_MS

    def done_of(self, stage: Stage) -> int:
        """Count the pages of a stage that ended well."""
        return sum(site.counts.stages[stage].done for site in self.sites)

    def total(self, name: str) -> int:
        """Add one statistic up over all sites."""
        return sum(site.stat(name) for site in self.sites)

    def workers_of(self, queue: str) -> int:
        """Count the living processes that serve a queue."""
        return sum(queue in process.queues for process in self.processes)

    def times(self, kind: str, stage: Stage) -> Histogram:
        """Return a histogram in ms of a stage over all sites. `kind` is fetch, parse or wait (release to lease)."""
        return read_histogram(self.health.counters, f"{kind}:{stage.value}", TIMES_MS)

    def lateness(self) -> Histogram:
        """Return a histogram of the seconds from a due time of a board to the admission of its scan."""
        return read_histogram(self.health.counters, "late", AGES_S)

    def freshness(self) -> Histogram:
        """Return a histogram of the seconds from posting to storing, over all sites."""
        return merged([read_histogram({}, "fresh", AGES_S), *(site.freshness for site in self.sites)])


def take_snapshot(frontier: Frontier, sites: Sequence[str] = ()) -> Snapshot:
    """Return a snapshot of the named sites, or of all published ones.

    Raises:
        ConfigError: a site is not published.
        RedisUnreachable: Redis does not answer.
    """
    names = list(sites) or frontier.sites.names()
    health = Inspector(frontier).health(QUEUES)
    forgotten = forgotten_boards(health)
    return Snapshot(
        sites=tuple(
            site_snapshot(counts, forgotten.get(counts.site, [])) for counts in Inspector(frontier).count_all(names)
        ),
        health=health,
        cell=frontier.cell,
        before=kept_marks(frontier).before(health.at_ms),
    )


def forgotten_boards(health: Health) -> dict[str, list[int]]:
    """Return by site the due times, in ms, of boards that no beat has looked at since."""
    forgotten: dict[str, list[int]] = {}
    for name, due_ms in health.forgotten:
        forgotten.setdefault(name, []).append(due_ms)
    return forgotten
