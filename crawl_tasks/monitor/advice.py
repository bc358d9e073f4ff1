"""What an operator should do about a site, in words. Pure: a snapshot in, a sentence out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from crawl_tasks.model import Stage
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot
from crawl_tasks.queues import CONTROL_QUEUE

RESTS_S = 5.0
"""A site that waits for less only keeps its pace."""


class Level(IntEnum):
    """How urgent: the greater, the sooner."""

    FINE = 0
    NOTE = 1
    ACT = 2


@dataclass(frozen=True, slots=True)
class Advice:
    """What stands with a site and what to do about it."""

    level: Level
    text: str


def advise(site: SiteSnapshot, snapshot: Snapshot) -> Advice:
    """Give the most urgent thing to do about a site."""
    return findings(site, snapshot)[0]


def findings(site: SiteSnapshot, snapshot: Snapshot) -> list[Advice]:
    """Give everything that stands with a site, the most urgent first; when nothing does, that."""
    found = sorted(_findings(site, snapshot), key=lambda advice: -advice.level)
    return found or [Advice(Level.FINE, "nothing to do")]


def _findings(site: SiteSnapshot, snapshot: Snapshot) -> Iterator[Advice]:
    census, boards = site.census, site.boards
    if site.is_paused:
        yield Advice(Level.NOTE, f"paused: resume it with crawl-tasks resume {site.name}")
        return
    for stage, shut in site.quarantined.items():
        yield Advice(
            Level.ACT,
            f"{stage.value} pages are in quarantine ({shut.reason}): crawl-tasks reparse {site.name}",
        )
    for stage, count in census.stages.items():
        waiting = count.ready + count.released
        if waiting and not snapshot.workers_of(stage.value):
            yield Advice(
                Level.ACT, f"{counted(waiting, stage.value + ' page')} without a worker: {worker_command(stage)}"
            )
    if site.is_draining:
        yield Advice(Level.NOTE, f"draining, no new scans begin: go on with crawl-tasks resume {site.name}")
    elif boards.late and not snapshot.is_beat_alive:
        yield Advice(Level.ACT, f"{counted(boards.late, 'board')} late, beat is silent: celery -A crawl_tasks beat")
    elif boards.late and census.open >= census.count("max_backlog") > 0:
        yield Advice(
            Level.ACT, f"{counted(boards.late, 'board')} late, the backlog is full: more workers or a higher rate"
        )
    elif boards.late and site.slowdown > 1:
        why = f"the forum answers badly ({_why(site, 'delayed')})" if site.failed else "the forum answers slowly"
        yield Advice(Level.ACT, f"{counted(boards.late, 'board')} late, {why}: crawl-tasks try {site.name}")
    elif boards.late:
        yield Advice(Level.ACT, f"{counted(boards.late, 'board')} late: scans take longer than their interval")
    elif boards.unscanned and not snapshot.is_beat_alive:
        yield Advice(
            Level.NOTE,
            f"{counted(boards.unscanned, 'board')} never scanned, beat is silent: celery -A crawl_tasks beat",
        )
    if census.parked:
        yield Advice(
            Level.ACT, f"{counted(census.parked, 'page')} parked ({_why(site, 'parked')}): mend the cause, then retry"
        )
    if census.dead:
        yield Advice(
            Level.NOTE,
            f"{counted(census.dead, 'page')} given up ({_why(site, 'dead')}): look at the reasons, then retry",
        )
    if census.delayed and not census.leased:
        yield Advice(Level.NOTE, f"{counted(census.delayed, 'page')} to be tried again ({_why(site, 'delayed')})")
    for note in gate_notes(site, snapshot.at_ms):
        yield Advice(Level.NOTE, note)


def standstills(snapshot: Snapshot) -> list[str]:
    """Say in a line each why nothing is fetched from any site."""
    why = [f"all sites stand still: {snapshot.vitals.halted}"] if snapshot.vitals.halted else []
    if snapshot.vitals.is_store_behind:
        why.append(f"storing is behind: nothing is fetched while {snapshot.outbox} pages wait for the database")
    return why


def of_installation(snapshot: Snapshot) -> list[str]:
    """Say what keeps every site from moving, or will: a standstill, queues that nobody serves, a silent beat."""
    found = standstills(snapshot)
    if unserved := [queue for queue in snapshot.queues if not snapshot.workers_of(queue)]:
        found.append(f"no worker serves {', '.join(unserved)}: celery -A crawl_tasks worker -Q {_started(unserved)}")
    if not snapshot.is_beat_alive:
        found.append("beat is silent, no new scans begin: celery -A crawl_tasks beat")
    return found


def _started(queues: Sequence[str]) -> str:
    # Workers of `list` serve `control` too.
    return ",".join(dict.fromkeys("list" if queue == CONTROL_QUEUE else queue for queue in queues))


def gate_notes(site: SiteSnapshot, now_ms: int) -> list[str]:
    """Say what holds a site back beside its pace."""
    notes = [f"asked {site.slowdown} times more slowly"] if site.slowdown > 1 else []
    notes += [f"{count} links left out by {cap}" for cap, count in site.capped.items()]
    rests_s = site.rests_s(now_ms)
    return [*notes, f"rests for {duration(rests_s)}"] if rests_s >= RESTS_S else notes


def _why(site: SiteSnapshot, fate: str) -> str:
    reasons = [(count, reason) for (what, reason), count in site.fates.items() if what == fate]
    return max(reasons)[1] if reasons else "see the reasons"


def worker_command(stage: Stage) -> str:
    """Say how to start a worker for a stage."""
    return f"celery -A crawl_tasks worker -Q {'list' if stage is Stage.LIST else 'detail'}"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float | None) -> str:
    """Write a duration for people; a dash where there is none."""
    if seconds is None:
        return "–"
    for unit, size, limit in (("s", 1, 90), ("min", 60, 5400), ("h", 3600, 172_800)):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"
