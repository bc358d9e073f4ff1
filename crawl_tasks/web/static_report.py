"""The report of a crawl: one HTML file with plots and numbers, to keep or to send."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.failed import FailedRequest
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.local.page_logs import PageLog
from crawl_tasks.model import Stage
from crawl_tasks.monitor.charts import bars, number
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.failed_pages import failed_table
from crawl_tasks.web.layout import WebUser, page_of, table
from crawl_tasks.web.overview import plots, problem_paragraph

TIMES = {"wait": "time on the queue", "fetch": "time of fetching", "parse": "time of parsing"}
MOST_NAMED = 10


_OF_SITE = ("site", "done", "new posts", "new comments", "failed attempts", "parked", "dead", "open")


def crawl_report(
    title: str, start: Snapshot, end: Snapshot, history: History, stats: Mapping[str, int | float | str], *,
    failed: Iterable[FailedRequest], slowest: Iterable[PageLog],
) -> str:  # fmt: skip
    """Return the report of the time between two snapshots."""
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{escape(str(value))}</td></tr>' for name, value in stats.items()
    )
    began, ended = (datetime.fromtimestamp(at.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in (start, end))
    current = CurrentProblems(end)
    left = "".join(
        problem_paragraph(problem, f"{site.name}: {problem.advice(site.name)}")
        for site in end.sites
        for problem in current.of(site)
    )
    charts = "".join(_latencies(kind, start, end) for kind in TIMES)
    body = (
        f"<h1>{escape(title)}: {escape(_named(end))}</h1>"
        f'<p class="quiet">{gettext("{began} to {ended} UTC", began=began, ended=ended)}</p>'
        f"{left}{plots(history, is_over=True)}"
        f'<div class="plots">{bars(_statuses(start, end), "answers by status")}{_freshness(start, end)}</div>'
        f'<div class="plots">{charts}</div>'
        f"<h2>{gettext('By site')}</h2>{_by_site(start, end)}"
        f"<h2>{gettext('Failed pages')}</h2>{failed_table(list(failed), WebUser())}"
        f"<h2>{gettext('Slowest pages')}</h2>{_slowest(slowest)}"
        f'<h2>{gettext("Numbers")}</h2><div class="sites narrow"><table><tbody>{rows}</tbody></table></div>'
    )
    return page_of(title, f"<main>{body}</main>")


def _named(end: Snapshot) -> str:
    names = [site.name for site in end.sites]
    more = gettext(" and {count} more", count=len(names) - MOST_NAMED) if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _by_site(start: Snapshot, end: Snapshot) -> str:
    before = {site.name: _counted(site) for site in start.sites}
    rows = []
    for site in end.sites:
        grown = [now - then for now, then in zip(_counted(site), before.get(site.name, (0,) * 4), strict=True)]
        left = (site.counts.parked, site.counts.dead, site.counts.open)
        rows.append((escape(site.name), *map(number, (*grown, *left))))
    return table(_OF_SITE, rows, "none")


def _counted(site: SiteSnapshot) -> tuple[int, ...]:
    """Return the counters of a site in the order of the columns."""
    return site.counts.done, site.stat("post:new"), site.stat("comment:new"), sum(site.failed.values())


def _slowest(pages: Iterable[PageLog]) -> str:
    rows = ((escape(page.site), page.stage, f"{page.fetch_ms} ms", escape(page.address)) for page in pages)
    return table(("site", "stage", "took", "address"), rows, "none")


def _latencies(kind: str, start: Snapshot, end: Snapshot) -> str:
    rows = []
    for stage in Stage:
        times = end.times(kind, stage).since(start.times(kind, stage))
        for share in (0.5, 0.95):
            if (value := times.quantile(share)) is not None:
                rows.append((f"{stage.value} p{share * 100:.0f}", value))
    return bars(rows, TIMES[kind], " ms")


def _statuses(start: Snapshot, end: Snapshot) -> list[tuple[str, float]]:
    names = sorted({status for site in end.sites for status in site.statuses})
    return [(name, end.total(f"status:{name}") - start.total(f"status:{name}")) for name in names]


def _freshness(start: Snapshot, end: Snapshot) -> str:
    ages: Histogram = end.freshness().since(start.freshness())
    names = [gettext("up to {duration}", duration=duration(bound)) for bound in ages.bounds]
    names.append(gettext("over {duration}", duration=duration(ages.bounds[-1])))
    rows = [(name, float(count)) for name, count in zip(names, ages.counts, strict=True) if count]
    return bars(rows, "from posting to storing, of items posted since the site is watched")


def require_place(path: Path, option: str) -> None:
    """Refuse a path to which no file can be written.

    Raises:
        ConfigError: the path is a directory, or its directory is not writable.
    """
    # Before the crawl: after hours of crawling, a report that cannot be written is lost.
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{option} {path}: cannot be written there; name a file in a directory that you may write to")


def write_report(path: Path, text: str) -> None:
    """Write the file.

    Raises:
        ConfigError: the file cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"--report {path}: cannot be written: {error.strerror}") from error
