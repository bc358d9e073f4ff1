"""Future checks: whether the newest times of pages are ahead of the moment when these were fetched."""

from __future__ import annotations

from collections.abc import Sequence

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import SiteCheck, mostly
from crawl_tasks.parse.values.future_dates import ahead_s, zone_hint


def times_ahead(trials: Sequence[DryRun]) -> list[float]:
    """Return by how many seconds each page with a time of the last hour has one that is ahead, 0 for none."""
    seconds = []
    for trial in trials:
        if trial.parsed is None or trial.page is None:
            continue
        items = trial.parsed.items
        times = [at for post in items.posts for at in (post.created_at, post.last_reply_at)]
        seconds.append(ahead_s([*times, *(comment.created_at for comment in items.comments)], trial.page.at_s))
    return [ahead for ahead in seconds if ahead is not None]


def no_time_is_ahead(pages: ReadPages) -> SiteCheck | None:
    """Return whether times are in the past: in the wrong zone, those of the last hour are ahead."""
    early = times_ahead(pages.read)
    most = max(early, default=0)
    hint = f", by {most / 60:.0f} min: {zone_hint(most)}"
    return mostly("no time is ahead of its page", [not seconds for seconds in early], hint)
