"""The summary of a crawl as text, and its report as a page."""

from __future__ import annotations

from crawl_tasks.local.page_logs import slowest_pages
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.operate.crawl import Start
from crawl_tasks.operate.local_environment import LocalEnvironment
from crawl_tasks.operate.summary import Stats, all_failures
from crawl_tasks.web.static_report import crawl_report


def report_of(here: LocalEnvironment, start: Start, end: Snapshot, history: History, stats: Stats) -> str:
    """Return the report of a crawl as a page, with its failed pages and those that its logs show as the slowest."""
    return crawl_report(
        gettext("crawl report"), start.snapshot, end, history, stats,
        failed=all_failures(here.cells, end),
        slowest=slowest_pages(here.supervisor.log_dir, start.snapshot.at_ms),
    )  # fmt: skip


def stats_text(stats: Stats) -> str:
    """Return the statistics as text, one a line."""
    width = max(map(len, stats))
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in stats.items())
