"""How a crawl is summed up: counters by name, as Scrapy's users know them, and the ledger."""

from __future__ import annotations

import time
from collections.abc import Mapping

from crawl_tasks.cli.crawl import Finish, Start
from crawl_tasks.model import Stage
from crawl_tasks.monitor.progress import Stored
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot

Stats = Mapping[str, int | float | str]


def crawl_stats(start: Start, end: Snapshot, stored: Stored, finish: Finish) -> dict[str, int | float | str]:
    """Give what happened between two moments, by name."""
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
    before = {site.name: site for site in start.snapshot.sites}
    for site in end.sites:
        for name, value in _site_stats(site, before.get(site.name)).items():
            stats[name] = int(stats.get(name, 0)) + value
    return dict(sorted(stats.items()))


def _site_stats(site: SiteSnapshot, before: SiteSnapshot | None) -> dict[str, int]:
    census, earlier = site.census, before.census if before else None
    stats = {
        "requests/admitted": census.admitted - (earlier.admitted if earlier else 0),
        "requests/duplicates": census.count("known") - (earlier.count("known") if earlier else 0),
        "requests/dead": census.dead,
        "requests/parked": census.parked,
        "requests/open": census.open,
        "pages/gone": site.gone - (before.gone if before else 0),
        "leases/expired": census.count("expired") - (earlier.count("expired") if earlier else 0),
        "messages/lost": census.count("lost") - (earlier.count("lost") if earlier else 0),
    }
    for reason, count in site.failed.items():
        stats[f"failed/{reason}"] = count - (before.failed.get(reason, 0) if before else 0)
    return stats | _downloader_stats(site, before)


def _downloader_stats(site: SiteSnapshot, before: SiteSnapshot | None) -> dict[str, int]:
    """Count under the names that Scrapy's users look for."""

    def rose(name: str) -> int:
        return site.stat(name) - (before.stat(name) if before else 0)

    stats = {
        "downloader/request_count": site.census.count("attempts") - (before.census.count("attempts") if before else 0),
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


def stats_text(stats: Stats) -> str:
    """Write the statistics one a line."""
    width = max(map(len, stats))
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in stats.items())


def is_clean(end: Snapshot) -> bool:
    """Say whether nothing was given up and every ledger balances."""
    return end.given_up == 0 and all(site.census.is_balanced for site in end.sites)
