"""From a snapshot, and one of a quarter of an hour ago, to alerts. Pure; the names are those of Prometheus' rules.

docker/prometheus/rules.yml has the same conditions for whoever runs Prometheus; a test holds the names together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from crawl_tasks.errors import AccessDenied, ParseError
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot
from crawl_tasks.queues import CONTROL_QUEUE, LIST_QUEUE, QUEUES

WINDOW_MS = 900_000
"""How far apart the two looks are that rates are taken from."""

FAILED_SHARE = 0.2
FAILED_OF_LEAST = 20
UNREADABLE_SHARE = 0.1
LATE_SHARE = 0.2
LATE_OF_LEAST = 20
FLAP_SHARE = 0.05
FLAP_LEAST = 50
DENIED_LEAST = 5
STALE_S = 1800
MEMORY_SHARE = 0.8
OUTBOX_LEAST = 1000


AT_ONCE = (
    "CrawlHalted",
    "CrawlRedisMemory",
    "CrawlBeatSilent",
    "CrawlNoWorker",
    "CrawlShelved",
    "CrawlSiteLate",
    "CrawlBacklogFull",
    "CrawlQuarantined",
)
"""Alerts that one look can tell."""

OF_WINDOW = (
    "CrawlOutboxGrows",
    "CrawlNoProgress",
    "CrawlErrorRatio",
    "CrawlParserBroken",
    "CrawlDenied",
    "CrawlStale",
    "CrawlTurnsLate",
    "CrawlCommentsFlap",
)
"""Alerts that take two looks."""


STANDSTILL = frozenset({"CrawlSiteLate", "CrawlNoProgress", "CrawlBacklogFull"})
"""Alerts that a site in its quiet hours, or with a spent budget, would give all night."""

RESTS_S = 60


class Severity(StrEnum):
    """Whether somebody must get up."""

    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Alert:
    """Something to look at. `subject` is a site or a queue, empty for the whole installation."""

    name: str
    subject: str
    severity: Severity
    summary: str
    remedy: str

    @property
    def key(self) -> str:
        """Name it among all alerts."""
        return f"{self.name} {self.subject}".strip()


@dataclass(frozen=True, slots=True)
class SiteMarks:
    """What is remembered of a site: counts that only grow."""

    attempts: int
    failed: int
    unreadable: int
    denied: int
    done: int
    freshness: Histogram
    late_turns: int
    comments: int
    restored: int


@dataclass(frozen=True, slots=True)
class Marks:
    """What is remembered of a snapshot."""

    at_ms: int
    outbox: int
    sites: Mapping[str, SiteMarks]


def marks_of(snapshot: Snapshot) -> Marks:
    """Keep of a snapshot what a later one is compared with."""
    return Marks(snapshot.at_ms, snapshot.outbox, {site.name: _marks_of_site(site) for site in snapshot.sites})


def _marks_of_site(site: SiteSnapshot) -> SiteMarks:
    failed = site.failed
    return SiteMarks(
        attempts=site.census.count("attempts"),
        failed=sum(failed.values()),
        unreadable=failed.get(ParseError.reason, 0),
        denied=failed.get(AccessDenied.reason, 0),
        done=site.census.done,
        freshness=site.freshness,
        late_turns=site.stat("late_turns"),
        comments=sum(site.stat(f"comment:{change}") for change in ("new", "filled", "changed", "unchanged")),
        restored=site.stat("comment:restored"),
    )


def find_alerts(snapshot: Snapshot, before: Marks | None) -> list[Alert]:
    """Give what is wrong now; without `before` only what one look can tell. Paused sites are left alone."""
    found = list(_of_installation(snapshot, before))
    for site in snapshot.sites:
        if not site.is_paused:
            alerts = list(_of_site(site))
            earlier = before.sites.get(site.name) if before else None
            if earlier is not None:
                alerts += _of_window(site, _marks_of_site(site), earlier)
            rests = site.rests_s(snapshot.at_ms) > RESTS_S
            found += [alert for alert in alerts if not (rests and alert.name in STANDSTILL)]
    return found


def _of_installation(snapshot: Snapshot, before: Marks | None) -> Iterator[Alert]:
    vitals = snapshot.vitals
    if vitals.halted:
        yield Alert(
            "CrawlHalted",
            "",
            Severity.CRITICAL,
            f"all sites stand still: {vitals.halted}",
            "look first whether it is the right Redis (CRAWL_REDIS_URL)",
        )
    if vitals.max_memory_bytes and vitals.memory_bytes > MEMORY_SHARE * vitals.max_memory_bytes:
        yield Alert(
            "CrawlRedisMemory",
            "",
            Severity.CRITICAL,
            f"Redis uses {vitals.memory_bytes / vitals.max_memory_bytes:.0%} of its memory; full, it refuses writes",
            "raise maxmemory, or lower max_backlog; crawl-tasks status shows which site has most",
        )
    if not snapshot.is_beat_alive:
        yield Alert(
            "CrawlBeatSilent",
            "",
            Severity.CRITICAL,
            "nobody looks for due boards: no new scans begin",
            "start celery -A crawl_tasks beat; a worker of the queue control must be alive too",
        )
    for queue in QUEUES:
        if not snapshot.workers_of(queue):
            yield Alert(
                "CrawlNoWorker",
                queue,
                Severity.CRITICAL,
                f"no worker serves the queue {queue}",
                f"start one: celery -A crawl_tasks worker -Q {LIST_QUEUE if queue == CONTROL_QUEUE else queue}",
            )
    if vitals.shelved:
        yield Alert(
            "CrawlShelved",
            "",
            Severity.WARNING,
            f"{vitals.shelved} pages could not be stored and are laid aside",
            "crawl-tasks shelf list says why; when it is mended: crawl-tasks shelf retry",
        )
    if before is not None and snapshot.outbox > max(OUTBOX_LEAST, before.outbox):
        yield Alert(
            "CrawlOutboxGrows",
            "",
            Severity.WARNING,
            f"{snapshot.outbox} pages wait to be stored, {snapshot.outbox - before.outbox} more than 15 minutes ago",
            "is the database well, is a store worker alive? add store workers",
        )


def _of_site(site: SiteSnapshot) -> Iterator[Alert]:
    if site.boards.late and not site.is_draining:
        yield Alert(
            "CrawlSiteLate",
            site.name,
            Severity.WARNING,
            f"{site.name}: {site.boards.late} of {site.boards.total} boards are not scanned on time",
            "crawl-tasks status; a full backlog, a slow forum or too few workers hold scans back",
        )
    if site.quarantined:
        shut = ", ".join(f"{stage.value} ({one.reason})" for stage, one in site.quarantined.items())
        yield Alert(
            "CrawlQuarantined",
            site.name,
            Severity.CRITICAL,
            f"{site.name}: pages cannot be read and wait until one can: {shut}",
            f"crawl-tasks reparse {site.name} shows what is read; mend the site file, then reparse --revive",
        )
    limit = site.census.count("max_backlog")
    if limit and site.census.open >= limit:
        yield Alert(
            "CrawlBacklogFull",
            site.name,
            Severity.WARNING,
            f"{site.name}: {site.census.open} requests are open, new scans are held back",
            "the forum gives more than its pace allows: watch fewer boards, less often, or raise gate and max_backlog",
        )


def _of_window(site: SiteSnapshot, now: SiteMarks, before: SiteMarks) -> Iterator[Alert]:
    attempts, failed = now.attempts - before.attempts, now.failed - before.failed
    waiting = site.census.open - site.census.delayed
    if waiting and now.done == before.done:
        yield Alert(
            "CrawlNoProgress",
            site.name,
            Severity.CRITICAL,
            f"{site.name}: {waiting} requests wait and no page was fetched for 15 minutes",
            "crawl-tasks doctor; are workers alive, does the forum answer (crawl-tasks fetch URL)?",
        )
    if attempts >= FAILED_OF_LEAST and failed > FAILED_SHARE * attempts:
        yield Alert(
            "CrawlErrorRatio",
            site.name,
            Severity.WARNING,
            f"{site.name}: {failed} of {attempts} attempts failed",
            "crawl-tasks status names the reasons, crawl-tasks dead list the pages",
        )
    unreadable = now.unreadable - before.unreadable
    if unreadable > UNREADABLE_SHARE * attempts:
        yield Alert(
            "CrawlParserBroken",
            site.name,
            Severity.CRITICAL,
            f"{site.name}: {unreadable} of {attempts} pages are not what the site file says",
            f"crawl-tasks dead list {site.name} --state parked; mend the site file,"
            f" then crawl-tasks dead retry {site.name} --state parked",
        )
    if now.denied - before.denied >= DENIED_LEAST:
        yield Alert(
            "CrawlDenied",
            site.name,
            Severity.CRITICAL,
            f"{site.name}: {now.denied - before.denied} pages were denied in 15 minutes",
            f"the forum may not want us: crawl-tasks pause {site.name}, ask its operator, or log in by the site file",
        )
    late_turns = now.late_turns - before.late_turns
    if attempts >= LATE_OF_LEAST and late_turns > LATE_SHARE * attempts:
        yield Alert(
            "CrawlTurnsLate",
            site.name,
            Severity.WARNING,
            f"{site.name}: {late_turns} turns at the gate were late, for {attempts} attempts: it is asked more slowly",
            "a fetching machine has too much to do, or is far from Redis: fewer threads, more machines, a nearer Redis",
        )
    comments, restored = now.comments - before.comments, now.restored - before.restored
    if restored > FLAP_LEAST and restored > FLAP_SHARE * comments:
        yield Alert(
            "CrawlCommentsFlap",
            site.name,
            Severity.WARNING,
            f"{site.name}: {restored} of {comments} comments had been called deleted, and are there again",
            "full passes do not see all comments: compare a thread with its pages (crawl-tasks try), mend the site"
            " file; meanwhile a longer interval.full_pass_s",
        )
    late_s = now.freshness.since(before.freshness).quantile(0.95)
    if late_s is not None and late_s > STALE_S:
        yield Alert(
            "CrawlStale",
            site.name,
            Severity.WARNING,
            f"{site.name}: 1 of 20 posts is stored later than {late_s / 60:.0f} minutes after it was written",
            f"crawl-tasks schedule list {site.name} shows the intervals; shorten those of busy boards",
        )
