"""The report of a crawl: one HTML file with its plots and numbers, to be kept or sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.model import Stage
from crawl_tasks.monitor.advice import Level, duration, findings
from crawl_tasks.monitor.charts import bars
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.layout import page_of
from crawl_tasks.web.overview import COLOURS, plots

TIMES = {"wait": "time on the queue", "fetch": "time of fetching", "parse": "time of parsing"}
MOST_NAMED = 10


def crawl_report(
    title: str, start: Snapshot, end: Snapshot, history: History, stats: Mapping[str, int | float | str]
) -> str:
    """Write the report of what happened between two snapshots."""
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{escape(str(value))}</td></tr>' for name, value in stats.items()
    )
    began, ended = (datetime.fromtimestamp(at.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in (start, end))
    said = "".join(
        f'<p class="said {COLOURS[advice.level]}"><b>{escape(site.name)}</b>: {escape(advice.text)}</p>'
        for site in end.sites
        for advice in findings(site, end)
        if advice.level > Level.FINE
    )
    charts = "".join(_latencies(what, start, end) for what in TIMES)
    body = (
        f"<h1>{escape(title)}: {escape(_named(end))}</h1>"
        f'<p class="quiet">{began} to {ended} UTC</p>{said}{plots(history, is_over=True)}'
        f'<div class="plots">{bars(_statuses(start, end), "answers by status")}{_freshness(start, end)}</div>'
        f'<div class="plots">{charts}</div>'
        f'<h2>Numbers</h2><div class="sites narrow"><table><tbody>{rows}</tbody></table></div>'
    )
    return page_of(title, f"<main>{body}</main>")


def _named(end: Snapshot) -> str:
    names = [site.name for site in end.sites]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _latencies(what: str, start: Snapshot, end: Snapshot) -> str:
    rows = []
    for stage in Stage:
        times = end.times(what, stage).since(start.times(what, stage))
        for share in (0.5, 0.95):
            if (value := times.quantile(share)) is not None:
                rows.append((f"{stage.value} p{share * 100:.0f}", value))
    return bars(rows, TIMES[what], " ms")


def _statuses(start: Snapshot, end: Snapshot) -> list[tuple[str, float]]:
    names = sorted({status for site in end.sites for status in site.statuses})
    return [(name, end.total(f"status:{name}") - start.total(f"status:{name}")) for name in names]


def _freshness(start: Snapshot, end: Snapshot) -> str:
    ages: Histogram = end.freshness().since(start.freshness())
    names = [f"up to {duration(bound)}" for bound in ages.bounds] + [f"over {duration(ages.bounds[-1])}"]
    rows = [(name, float(count)) for name, count in zip(names, ages.counts, strict=True) if count]
    return bars(rows, "from posting to storing, of what was posted since the site is watched")


def require_place(path: Path, option: str) -> None:
    """Find out before a crawl, and not after it, that its result has no place.

    Raises:
        ConfigError: no file can be written there.
    """
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{option} {path}: cannot be written there; name a file in a directory that you may write to")


def write_report(path: Path, text: str) -> None:
    """Write the file.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"--report {path}: cannot be written: {error.strerror}") from error
