"""A snapshot as JSON values, for `--json`, reports and whoever reads them."""

from __future__ import annotations

from dataclasses import asdict

from crawl_tasks.model import Stage
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot


def snapshot_row(snapshot: Snapshot) -> dict[str, object]:
    """Give a snapshot as JSON values."""
    return {
        "at_ms": snapshot.at_ms,
        "outbox": snapshot.outbox,
        "queues": dict(snapshot.queues),
        "sites": [site_row(site) for site in snapshot.sites],
    }


def site_row(site: SiteSnapshot) -> dict[str, object]:
    """Give a site as JSON values."""
    census = site.census
    return {
        "site": site.name,
        "paused": site.is_paused,
        "admitted": census.admitted,
        "known": census.count("known"),
        "open": census.open,
        "ready": census.ready,
        "released": census.released,
        "leased": census.leased,
        "delayed": census.delayed,
        "parked": census.parked,
        "dead": census.dead,
        "done": census.done,
        "gone": site.gone,
        "failed": dict(site.failed),
        "expired_leases": census.count("expired"),
        "lost_messages": census.count("lost"),
        "stages": {stage.value: asdict(census.stages[stage]) for stage in Stage},
        "boards": asdict(site.boards),
        "balances": census.is_balanced,
    }
