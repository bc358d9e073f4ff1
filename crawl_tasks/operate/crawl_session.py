"""A crawl session on this machine: the processes start, crawl to the end of a plan, and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from crawl_tasks.operate.crawl import Finish, Plan, ProgressReport, Start, begin, start_processes, watch
from crawl_tasks.operate.local_environment import LocalEnvironment
from crawl_tasks.operate.publish import PublishResult
from crawl_tasks.operate.stored_counts import StoredCounts


class CrawlEnd(NamedTuple):
    """The end of a crawl: reason, start (None if it was interrupted before), address of Flower, and the interrupt."""

    finish: Finish
    start: Start | None
    flower: str = ""
    stopped_by: KeyboardInterrupt | None = None


def crawl(
    local: LocalEnvironment,
    plan: Plan,
    stored: StoredCounts,
    progress: ProgressReport,
    announce: Callable[[PublishResult], None],
    begun: Callable[[Plan, str], Plan] = lambda plan, flower: plan,
    goes_on: Callable[[], object] = lambda: False,
) -> CrawlEnd:
    """Crawl until the end of the plan, or Ctrl-C.

    Args:
        local: the processes of this machine. They are ended here.
        plan: the sites, processes and end.
        stored: the counts of the database.
        progress: what shows the crawl.
        announce: told of each published site.
        begun: told of the address of Flower once the processes run. Returns the plan to crawl.
        goes_on: asked when the crawl is idle, whether something was added that is to be crawled too.

    Raises:
        CrawlError: a necessary process died, or Redis or the database was away for too long.
    """
    start: Start | None = None
    flower = ""
    try:
        with local.supervisor, progress:
            flower = start_processes(local, plan)
            plan = begun(plan, flower)
            start = begin(local, plan, stored, announce)
            finish = watch(local, plan, start, stored, progress)
            while finish is Finish.IDLE and goes_on():
                finish = watch(local, plan, start, stored, progress)
            return CrawlEnd(finish, start, flower)
    except KeyboardInterrupt as stop:
        return CrawlEnd(Finish.INTERRUPTED, start, flower, stop)
