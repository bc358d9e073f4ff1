"""The busiest sites on a terminal: rates of the last minute, what is open, what to do."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from crawl_tasks.monitor.advice import Level, advise, counted, duration
from crawl_tasks.monitor.charts import number
from crawl_tasks.monitor.history import ALL, History, Reading
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot

COLUMNS = ("site", "pages/min", "open", "late", "posts/min", "failed/min", "overdue")
WIDE, NARROW = 110, 64
ON_NARROW = 4
"""Columns on a terminal that has room for no more beside what to do next; a narrow one has none but the site."""
STYLES = {Level.FINE: "green", Level.NOTE: "yellow", Level.ACT: "red"}
STEP_MS = 5000
STEPS = 13
"""Readings that make a minute."""


def recent() -> History:
    """Make the memory that rates of the last minute take."""
    return History(STEP_MS, STEPS)


def top_table(snapshot: Snapshot, history: History, most: int, width: int = WIDE) -> Table:
    """Lay out the sites, the busiest first, with the sum above, on a terminal of some width."""
    shown = len(COLUMNS) if width >= WIDE else ON_NARROW if width >= NARROW else 1
    table = Table(title=headline(snapshot, history), title_justify="left", box=SIMPLE_HEAD)
    for name in COLUMNS[:shown]:
        table.add_column(name, justify="left" if name == "site" else "right", no_wrap=name != "site", overflow="fold")
    table.add_column("next", overflow="fold", min_width=width // 3)
    busiest = sorted(snapshot.sites, key=lambda site: (-(_pages(history, site.name) or 0), site.name))
    for site in busiest[:most]:
        advice = advise(site, snapshot)
        cells = _cells(site, snapshot, history)[:shown]
        table.add_row(*map(escape, cells), escape(advice.text), style=STYLES[advice.level])
    return table


def headline(snapshot: Snapshot, history: History) -> str:
    """Sum all sites up in a line."""
    late = sum(site.boards.late for site in snapshot.sites)
    return escape(
        f"{counted(len(snapshot.sites), 'site')}, {counted(len(snapshot.processes), 'worker')}, beat"
        f" {'alive' if snapshot.is_beat_alive else 'silent'}: {_rate(_pages(history, ALL))} pages/min,"
        f" {number(snapshot.open)} open, {late} late, {number(snapshot.outbox)} to store"
    )


def _cells(site: SiteSnapshot, snapshot: Snapshot, history: History) -> list[str]:
    return [
        f"{site.name} (paused)" if site.is_paused else site.name,
        _rate(_pages(history, site.name)),
        number(site.census.open),
        f"{site.boards.late}/{site.boards.total}",
        _rate(history.rate(site.name, lambda reading: reading.posts)),
        _rate(history.rate(site.name, lambda reading: reading.failed)),
        duration(site.late_s(snapshot.at_ms)) if site.boards.overdue else "–",
    ]


def _pages(history: History, name: str) -> float | None:
    return history.rate(name, _done)


def _done(reading: Reading) -> int:
    return reading.pages


def _rate(per_minute: float | None) -> str:
    return "–" if per_minute is None else number(per_minute)
