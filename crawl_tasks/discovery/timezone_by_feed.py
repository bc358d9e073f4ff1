"""Feed times: moments of threads in a forum's feed, which have a zone, beside those that its pages show without one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.html_rules.feed_list import MOST_FEEDS, entries_of, feeds_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.timezone import Zone, zone_of_offset
from crawl_tasks.discovery.proof.dry_run import DryRun, reread
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.errors import PageError
from crawl_tasks.model import Post, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.hub import moment_of
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Site

_QUARTER_S: Final = 900
"""Zones in use differ by whole quarters of an hour."""
_EASTERNMOST_S: Final = 14 * 3600
_MINUTE_S: Final = 60
"""Pages show times to the minute."""
_ELSEWHERE: Final = "Pacific/Marquesas"
"""A zone half an hour off those of most forums."""


def feed_differences(probe: HttpProbe, site: Site, trials: Sequence[DryRun]) -> list[int]:
    """Return by how many minutes the times of threads, as they were read, are ahead of those of the forum's feeds.

    Left out are times that no zone makes differ so, as that of a last reply in the place of a first post. A forum whose
    pages show their zone is not asked for a feed.
    """
    shown = defaultdict[str, set[int]](set)
    for key, at in _zoneless(site, trials):
        shown[key].add(at)
    front = next((trial.page for trial in trials if trial.page is not None and trial.request.stage is Stage.LIST), None)
    if front is None or not shown:
        return []
    minutes: list[int] = []
    for feed in feeds_of(Document(front))[:MOST_FEEDS]:
        if len(minutes) < FEW:
            moments = dict(_threads(probe, site, feed))
            minutes = [ahead for key, at in moments.items() for ahead in _quarters(shown[key], at)[:1]]
    return minutes


def _zoneless(site: Site, trials: Sequence[DryRun]) -> Iterator[tuple[str, int]]:
    """Yield the threads with the times that would be others in another zone."""
    zone = _ELSEWHERE if site.timezone != _ELSEWHERE else "UTC"
    elsewhere = compile_site(site.model_copy(update={"timezone": zone}), contact=None)
    for trial in trials:
        if trial.page is not None and trial.rows:
            moved = dict(_times(reread(elsewhere, trial.request, trial.page)))
            yield from ((key, at) for (key, name), at in _times(trial) if moved.get((key, name)) != at)


def _times(trial: DryRun) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the times of threads by thread and field."""
    for post in (row for row in trial.rows if isinstance(row, Post)):
        for name, at in (("created_at", post.created_at), ("last_reply_at", post.last_reply_at)):
            if at is not None:
                yield (post.post_id, name), at


def _threads(probe: HttpProbe, site: Site, feed: str) -> Iterator[tuple[str, int]]:
    """Yield the threads of a feed with their moments."""
    addresses = Addresses(site)
    for link in entries_of(probe, feed):
        try:
            # Programs write the host of their settings into feeds, as example.com.
            own = urlsplit(link.address)._replace(scheme="", netloc="").geturl()
            target, at = addresses.read(urljoin(feed, own)), moment_of(link.changed)
        except PageError:
            continue
        if target is not None and target.stage is Stage.POST and at is not None:
            yield target.key, at


def _quarters(shown: set[int], at: int) -> list[int]:
    """Return by how many minutes times are ahead of a moment where a zone may make them differ so, the least first."""
    near = {ahead_s: round(ahead_s / _QUARTER_S) * _QUARTER_S for ahead_s in (time - at for time in shown)}
    fits = (quarter for ahead_s, quarter in near.items() if abs(ahead_s - quarter) <= _MINUTE_S)
    return sorted((quarter // 60 for quarter in fits if abs(quarter) <= _EASTERNMOST_S), key=abs)


def zone_by_feed(minutes: Sequence[int], site: Site) -> Zone | None:
    """Return the zone in which the times of most threads agree with their feed, None where too few tell."""
    usual, number = Counter(minutes).most_common(1)[0] if minutes else (0, 0)
    if number < FEW or 2 * number <= len(minutes):
        return None
    assumed = datetime.now(ZoneInfo(site.timezone)).utcoffset() or timedelta()
    name = zone_of_offset(usual + int(assumed.total_seconds()) // 60)
    return Zone(name, f"{number} threads of its feed fit no other; check this if it has summer time") if name else None


def feed_check(minutes: Sequence[int], site: Site) -> SiteCheck | None:
    """Return the check that times agree with those of the forum's feed, None where too few tell."""
    zone, wrong = zone_by_feed(minutes, site), [ahead for ahead in minutes if ahead]
    if zone is None:
        return None
    text = f"{len(wrong)} of {len(minutes)} do not, as by {wrong[0]} min: set timezone: {zone.name}" if wrong else ""
    return SiteCheck("times agree with the forum's feed", 2 * len(wrong) < len(minutes), text)
