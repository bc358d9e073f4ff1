"""Decisions of operators about a site, as its fields in Redis tell: pause, drain, and the publisher of its file."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from crawl_tasks.monitor.site_snapshot import SiteSnapshot


def decided(site: SiteSnapshot) -> str:
    """Return when, by whom and why a site was paused or is drained, as ` since 2026-11-22 10:00 UTC by ann: why`."""
    if not (text := site.counts.fields.get("decision")):
        return ""
    at_ms, _, who, why = json.loads(text)
    since = datetime.fromtimestamp(int(at_ms) / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f" since {since}" + (f" by {who}" if who else "") + (f": {why}" if why else "")


def is_withdrawn(site: SiteSnapshot) -> bool:
    """Return whether the directory that published a site has no file of it any more."""
    return site.counts.fields.get("withdrawn") == "1"


def publisher_of(site: SiteSnapshot) -> str:
    """Return the host:directory whose file was published last."""
    return site.counts.fields.get("publisher", "an older version")
