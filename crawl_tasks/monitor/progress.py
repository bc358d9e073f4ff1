"""The progress screen of a terminal: pages done, pace, open requests by state, failures, remaining time."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Self

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from crawl_tasks.model import Stage
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot, by_state
from crawl_tasks.monitor.snapshot import Snapshot, Stored

RATE_WINDOW_S = 30.0
PLAIN_EVERY_S = 5.0
TABLE_WIDTH = 80
"""Narrower terminals get only the line of totals."""
HEAD_LINES = 6
"""Title, heads, rule and margins of the table, and the line of the cursor."""
COUNTED = ("stage", "done", "ready", "queued", "leased", "delayed", "parked", "dead")
"""The columns of the table behind that of the site."""
LINES_OF_SITE = 5
"""Three stages, all, and the line below them."""


class Pace:
    """The pace of the last half minute in pages a minute, and the time that open requests take at that pace."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, int]] = deque()

    def note(self, snapshot: Snapshot) -> None:
        """Add a snapshot."""
        self._seen.append((snapshot.at_ms, snapshot.done))
        # Two readings stay, however old: a rate needs two, and after a long outage all are old.
        while snapshot.at_ms - self._seen[0][0] > RATE_WINDOW_S * 1000 and len(self._seen) > 2:
            self._seen.popleft()

    @property
    def per_minute(self) -> float | None:
        """Return pages a minute, None before the second snapshot."""
        if len(self._seen) < 2 or self._seen[-1][0] == self._seen[0][0]:
            return None
        (first_ms, first), (last_ms, last) = self._seen[0], self._seen[-1]
        return (last - first) * 60_000 / (last_ms - first_ms)

    def eta_s(self, open_requests: int) -> float | None:
        """Return the seconds that `open_requests` take at this pace, None while nothing moves."""
        rate = self.per_minute
        return open_requests * 60 / rate if rate else None


class Progress:
    """A live screen on a terminal, elsewhere a plain line every few seconds. Keeps the history of the crawl."""

    def __init__(self, title: str, console: Console | None = None, *, is_onlooker: bool = False) -> None:
        """Begin. An onlooker watches processes that another command started."""
        self._title = title
        self._is_onlooker = is_onlooker
        # With standard output in a pipe or a file, progress goes to standard error and does not mix with the result.
        self._console = console or Console(stderr=not sys.stdout.isatty())
        self._pace = Pace()
        self.history = History(step_ms=1000, most=240, is_whole=True)
        self._started = time.monotonic()
        self._last_line = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        """Print a line above the screen."""
        self._console.print(escape(line), highlight=False, soft_wrap=True)

    def show(self, snapshot: Snapshot, stored: Stored | None = None) -> None:
        """Show a snapshot."""
        self._pace.note(snapshot)
        self.history.note(snapshot)
        elapsed_s = time.monotonic() - self._started
        if self._live is not None:
            title = f"crawl_tasks {self._title}  {clock(elapsed_s)}"
            lines = [line_of(snapshot, self._pace, elapsed_s, stored), *self._troubles(snapshot)]
            width, height = self._console.size
            # Rich cuts a live screen that is higher than the terminal, and wrapped lines count several times.
            room = height - sum(1 + len(line) // width for line in lines)
            table = [fitting_table(title, snapshot, room)] if width >= TABLE_WIDTH else []
            self._live.update(Group(*table, *map(escape, lines)), refresh=True)
        elif elapsed_s - self._last_line >= PLAIN_EVERY_S or self._last_line == 0.0:
            self._last_line = elapsed_s
            self.say(line_of(snapshot, self._pace, elapsed_s, stored))

    def _troubles(self, snapshot: Snapshot) -> list[str]:
        """Return the problems as lines, without missing processes where this command is still starting them."""
        current = CurrentProblems(snapshot)
        problems = current.installation if self._is_onlooker else current.beside_processes
        return [*(problem.summary for problem in problems), *troubles(snapshot, current)]


def fitting_table(title: str, snapshot: Snapshot, room: int) -> Table:
    """Return a table of at most `room` lines: sites by stage, or else one line a site, the fullest first."""
    sites = snapshot.sites
    if len(sites) * LINES_OF_SITE + HEAD_LINES <= room:
        return site_table(title, sites)
    most = max(1, room - HEAD_LINES)
    fullest = sorted(sites, key=lambda site: (-site.counts.open, site.name))[:most]
    more = gettext(", {count} sites more: crawl-tasks status --sort pages", count=len(sites) - most)
    return site_table(title + more if len(sites) > most else title, fullest, has_stages=False)


def site_table(title: str, sites: Sequence[SiteSnapshot], *, has_stages: bool = True) -> Table:
    """Return a table of done and open requests, by site, stage and state."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    # The column that gives way on a narrow terminal: a folded name can be read, a folded number cannot.
    table.add_column(gettext("site"), overflow="fold")
    for name in COUNTED:
        table.add_column(gettext(name), justify="left" if name == "stage" else "right", no_wrap=True)
    for site in sites:
        _add_site(table, site, has_stages=has_stages)
    return table


def _add_site(table: Table, site: SiteSnapshot, *, has_stages: bool) -> None:
    counts = site.counts
    for stage in Stage if has_stages else ():
        count = counts.stages[stage]
        table.add_row("", stage.value, str(count.done), str(count.ready), str(count.released), "", "", "", "")
    name = site.name + (gettext(" (paused)") if site.is_paused else "")
    by_state = (counts.done, counts.ready, counts.released, counts.leased, counts.delayed, counts.parked, counts.dead)
    table.add_row(escape(name), gettext("all"), *map(str, by_state), style="bold", end_section=has_stages)


def line_of(snapshot: Snapshot, pace: Pace, elapsed_s: float, stored: Stored | None) -> str:
    """Return a snapshot as one line."""
    rate, eta_s, held = pace.per_minute, pace.eta_s(snapshot.moving), snapshot.open - snapshot.moving
    parts = [
        clock(elapsed_s),
        gettext("{count} pages", count=snapshot.done)
        + (gettext(" ({count:.0f}/min)", count=rate) if rate is not None else ""),
        *([gettext("{posts} posts, {comments} comments stored", **asdict(stored))] if stored else []),
        gettext("{count} open", count=snapshot.open) + (gettext(" ({count} held back)", count=held) if held else ""),
        gettext("{count} to store", count=snapshot.outbox),
        gettext("{count} failed attempts", count=snapshot.failed),
        *([gettext("{count} given up", count=snapshot.given_up)] if snapshot.given_up else []),
        *([gettext("about {time} left", time=clock(eta_s))] if eta_s else []),
    ]
    return "  ".join(parts)


def troubles(snapshot: Snapshot, current: CurrentProblems) -> list[str]:
    """Return a line for each site with failures or problems of its own."""
    lines = []
    for site in snapshot.sites:
        parts = [f"{reason} {count}" for reason, count in sorted(site.failed.items(), key=lambda row: -row[1])]
        parts += [problem.text for problem in current.own(site)]
        if parts:
            lines.append(f"{site.name}: {', '.join(parts)}")
    return lines


def plain_text(snapshot: Snapshot) -> str:
    """Return a snapshot as text: a paragraph a site, then queues and outbox."""
    current = CurrentProblems(snapshot)
    blocks = [_site_text(site, current) for site in snapshot.sites]
    queues = ", ".join(f"{name} {count}" for name, count in snapshot.queues.items())
    last = gettext("queues: {queues}; to store: {count} pages", queues=queues, count=snapshot.outbox)
    return "\n".join([*blocks, last, *(problem.advice() for problem in current.installation)])


def _site_text(site: SiteSnapshot, current: CurrentProblems) -> str:
    counts, boards = site.counts, site.boards
    mark = gettext(" (draining)") if site.is_draining else ""
    if site.is_paused:
        mark = gettext(" (paused)")
    stages = [
        gettext("  {stage:<8} done {done}, ready {ready}, queued {released}", stage=stage.value, **asdict(count))
        + _breaker_text(site, stage)
        for stage, count in counts.stages.items()
    ]
    failed = ", ".join(f"{reason} {count}" for reason, count in site.failed.items()) or gettext("none")
    states = {"open": counts.open, "gone": site.gone, **by_state(counts)}
    return "\n".join(
        [
            gettext("{site}: {open} open, {done} done ({gone} gone), {parked} parked, {dead} dead",
                    site=site.name + mark, **states)
            + (gettext("; {count} walks ended at max_pages", count=site.cut) if site.cut else ""),
            *stages,
            gettext("  leased {leased}, delayed {delayed}; failed attempts: {failed}", failed=failed, **states),
            gettext("  boards   {total}: {scanning} being scanned, {overdue} overdue, {late} late,"
                    " {unscanned} never scanned", **asdict(boards)),
            *([gettext("  fresh    {text}", text=site.expected)] if site.expected else []),
            *(gettext("  next     {text}", text=problem.advice(site.name)) for problem in current.of(site)),
        ]
    )  # fmt: skip


def _breaker_text(site: SiteSnapshot, stage: Stage) -> str:
    breaker = site.open_breakers.get(stage)
    if breaker is None:
        return ""
    since = datetime.fromtimestamp(breaker.since_ms / 1000, UTC)
    text = "; circuit breaker open since {since:%Y-%m-%d %H:%M}Z: {reason}"
    return gettext(text, since=since, reason=breaker.reason)


def clock(seconds: float) -> str:
    """Return a duration as m:ss or h:mm:ss."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
