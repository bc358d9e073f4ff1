"""The summary of a crawl: counters by the names that Scrapy's users know, and what is left to a person."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from crawl_tasks.frontier.admin.failed import FailedRequest
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.model import Stage
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.installation_kinds import ITEMS_REJECTED
from crawl_tasks.monitor.problems.kinds import Problem, Severity
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.problems.site_kinds import SECRETS_HIDDEN
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot, Stored
from crawl_tasks.operate.crawl import Finish, Plan, Start
from crawl_tasks.operate.failed import newest_failures
from crawl_tasks.operate.local_environment import LocalEnvironment
from crawl_tasks.operate.stored_counts import StoredCounts

MOST_NAMED: Final = 5
"""Failed pages that the end of a run names at most."""

Stats = Mapping[str, int | float | str]


def crawl_stats(start: Start, end: Snapshot, stored: Stored, finish: Finish) -> dict[str, int | float | str]:
    """Return the statistics between the start and the end of a crawl, by name."""
    elapsed_s = time.monotonic() - start.at
    pages = end.done - start.snapshot.done
    stats: dict[str, int | float | str] = {
        "elapsed_s": round(elapsed_s, 1),
        "finish_reason": finish.value,
        "pages/all": pages,
        "pages/per_minute": round(pages * 60 / elapsed_s) if elapsed_s > 0 else 0,
        "stored/comments": stored.comments,
        "stored/comments_new": stored.comments - start.stored.comments,
        "stored/posts": stored.posts,
        "stored/posts_new": stored.posts - start.stored.posts,
        "stored/waiting_pages": end.outbox,
    }
    for stage in Stage:
        stats[f"pages/{stage.value}"] = end.done_of(stage) - start.snapshot.done_of(stage)
    # Counters live as long as the ledger. The summary is about only this crawl.
    before = {site.name: site for site in start.snapshot.sites}
    for site in end.sites:
        for name, value in _site_stats(site, before.get(site.name)).items():
            stats[name] = int(stats.get(name, 0)) + value
    return dict(sorted(stats.items()))


def _site_stats(site: SiteSnapshot, before: SiteSnapshot | None) -> dict[str, int]:
    counts, earlier = site.counts, before.counts if before else None
    stats = {
        "requests/admitted": counts.admitted - (earlier.admitted if earlier else 0),
        "requests/duplicates": counts.count("known") - (earlier.count("known") if earlier else 0),
        "requests/dead": counts.dead,
        "requests/parked": counts.parked,
        "requests/open": counts.open,
        "pages/gone": site.gone - (before.gone if before else 0),
        "leases/expired": counts.count("expired") - (earlier.count("expired") if earlier else 0),
        "messages/lost": counts.count("lost") - (earlier.count("lost") if earlier else 0),
    }
    for reason, count in site.failed.items():
        stats[f"failed/{reason}"] = count - (before.failed.get(reason, 0) if before else 0)
    return stats | _downloader_stats(site, before)


def _downloader_stats(site: SiteSnapshot, before: SiteSnapshot | None) -> dict[str, int]:
    """Return the counters with the names of Scrapy's statistics."""

    def rose(name: str) -> int:
        return site.stat(name) - (before.stat(name) if before else 0)

    stats = {
        "downloader/request_count": site.counts.count("attempts") - (before.counts.count("attempts") if before else 0),
        "downloader/response_bytes": rose("wire"),
        "items/posts_changed": rose("post:changed"),
        "items/comments_changed": rose("comment:changed"),
        "throttle/seconds": round(rose("rest_ms") / 1000),
    }
    for status in site.statuses:
        stats[f"downloader/response_status_count/{status}"] = rose(f"status:{status}")
    for fate, reason in site.fates:
        name = "retry/reason_count" if fate == "delayed" else f"given_up/{fate}"
        stats[f"{name}/{reason}"] = rose(f"{fate}:{reason}")
    return stats


def note_short_threads(here: LocalEnvironment, plan: Plan, stored: StoredCounts) -> int:
    """Note the threads that lack replies in the ledger, and return how many of them are read once more by that."""
    number = 0
    for site in plan.sites:
        if site.comment or site.post.comments or site.post.parser:
            short = stored.short_threads(site)
            again = [request for thread in short if (request := thread.again(site.name))]
            texts = {thread.post_id: str(thread) for thread in short}
            number += here.cells.of(site.name).sites.note_threads(site.name, texts, again, is_all=True)
    return number


def problems_of(start: Start, end: Snapshot) -> tuple[list[Problem], list[Problem]]:
    """Return the problems at the end of a crawl: those for which it has failed, as `check` would, and remarks.

    Pages that an earlier crawl could not store count there.
    """
    current = CurrentProblems(end)
    rejected = end.health.rejected - start.snapshot.health.rejected
    failures = [ITEMS_REJECTED.problem(count=rejected)] if rejected > 0 else []
    remarks: list[Problem] = []
    for site in end.sites:
        for problem in current.own(site):
            if problem.name == SECRETS_HIDDEN.name:
                remarks.append(problem)
            elif problem.severity is not Severity.INFO:
                failures.append(problem)
    return failures, remarks


def failed_pages(cells: Cells, end: Snapshot) -> list[str]:
    """Return a line for each of the newest failed pages, and one with the commands that show and retry them all."""
    failed = all_failures(cells, end) if end.given_up else []
    if not failed:
        return []
    lines = [
        f"{page.request.site}: {page.request.stage} {page.request.address}: {page.reason}: {page.details}"
        for page in sorted(failed, key=lambda page: -page.at_ms)[:MOST_NAMED]
    ]
    command = gettext(
        "{count} pages failed; crawl-tasks failed list, mend the cause, then crawl-tasks failed retry --kind page",
        count=end.given_up,
    )
    return [*lines, command]


def all_failures(cells: Cells, end: Snapshot) -> list[FailedRequest]:
    """Return some of the failed pages of each site, the newest first."""
    return [failure for site in end.sites for failure in newest_failures(cells.of(site.name), site.name)]


def is_clean(end: Snapshot) -> bool:
    """Return whether nothing was given up and every ledger balances."""
    return end.given_up == 0 and all(site.counts.is_balanced for site in end.sites)
