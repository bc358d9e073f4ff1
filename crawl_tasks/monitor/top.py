"""The table of sites on a terminal, sorted by a column: rates of the last minute, open requests, remedies."""

from __future__ import annotations

from operator import attrgetter

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from crawl_tasks.monitor.charts import number
from crawl_tasks.monitor.history import ALL, History
from crawl_tasks.monitor.humanize import counted, duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.kinds import Severity
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot

COLUMNS = {
    "site": "site",
    "pages": "pages/min",
    "open": "open",
    "late": "late",
    "posts": "posts/min",
    "failed": "failed/min",
    "overdue": "overdue",
}
"""The columns: names for `--sort`, with their heads."""
WIDE, NARROW = 110, 64
ON_NARROW = 4
"""Columns beside the remedy on a terminal of medium width. A narrow one has only the site."""
STYLES = {None: "green", Severity.INFO: "yellow", Severity.WARNING: "red", Severity.CRITICAL: "red"}
STEP_MS = 5000
STEPS = 13
"""Readings of a minute: twelve steps of 5 s have thirteen ends."""


def recent() -> History:
    """Return an empty history for rates of the last minute."""
    return History(STEP_MS, STEPS)


def top_table(snapshot: Snapshot, history: History, most: int, width: int = WIDE, sort: str = "pages") -> Table:
    """Return the table of sites, the greatest of the column `sort` first, for a terminal of `width` characters."""
    count = len(COLUMNS)
    if width < WIDE:
        count = ON_NARROW if width >= NARROW else 1
    table = Table(title=headline(snapshot, history), title_justify="left", box=SIMPLE_HEAD)
    for name in list(COLUMNS.values())[:count]:
        table.add_column(
            gettext(name), justify="left" if name == "site" else "right", no_wrap=name != "site", overflow="fold"
        )
    table.add_column(gettext("next"), overflow="fold", min_width=width // 3)
    # By name where the numbers are equal, so that rows do not change places at every look.
    greatest = sorted(snapshot.sites, key=lambda site: (-_size(sort, site, snapshot, history), site.name))
    current = CurrentProblems(snapshot)
    for site in greatest[:most]:
        problem = next(iter(current.of(site)), None)
        cells = _cells(site, snapshot, history)[:count]
        advice, style = (
            (problem.advice(site.name), STYLES[problem.severity])
            if problem
            else (gettext("nothing to do"), STYLES[None])
        )
        table.add_row(*map(escape, cells), escape(advice), style=style)
    return table


def headline(snapshot: Snapshot, history: History) -> str:
    """Return the sums over all sites as one line."""
    late, pages = sum(site.boards.late for site in snapshot.sites), _rate(history.rate(ALL, attrgetter("pages")))
    return escape(
        gettext(
            "{sites}, {workers}, beat {beat}: {pages} pages/min, {open} open, {late} late, {outbox} to store",
            sites=counted(len(snapshot.sites), "site"),
            workers=counted(len(snapshot.processes), "worker"),
            beat=gettext("alive") if snapshot.is_beat_alive else gettext("silent"),
            pages=pages,
            open=number(snapshot.open),
            late=late,
            outbox=number(snapshot.outbox),
        )
    )


def _cells(site: SiteSnapshot, snapshot: Snapshot, history: History) -> list[str]:
    return [
        site.name + (gettext(" (paused)") if site.is_paused else ""),
        _rate(history.rate(site.name, attrgetter("pages"))),
        number(site.counts.open),
        f"{site.boards.late}/{site.boards.total}",
        _rate(history.rate(site.name, attrgetter("posts"))),
        _rate(history.rate(site.name, attrgetter("failed"))),
        duration(site.late_s(snapshot.at_ms)) if site.boards.overdue else "–",
    ]


def _size(column: str, site: SiteSnapshot, snapshot: Snapshot, history: History) -> float:
    """Return the number of a site in a column. The column of names has 0 for all."""
    if column in ("pages", "posts", "failed"):
        return history.rate(site.name, attrgetter(column)) or 0
    return {"open": site.counts.open, "late": site.boards.late, "overdue": site.late_s(snapshot.at_ms)}.get(column, 0)


def _rate(per_minute: float | None) -> str:
    return "–" if per_minute is None else number(per_minute)
