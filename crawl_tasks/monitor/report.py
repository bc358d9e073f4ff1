"""A snapshot as JSON values, for `--json`, reports and whoever reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from crawl_tasks.frontier.gauges import NO_AGES, BoardState
from crawl_tasks.frontier.graves import Grave
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.frontier.recent import RecentPage
from crawl_tasks.model import Kind, Stage
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot


def snapshot_row(snapshot: Snapshot) -> dict[str, object]:
    """Give a snapshot as JSON values."""
    return {
        "at_ms": snapshot.at_ms,
        "outbox": snapshot.outbox,
        "shelved": snapshot.vitals.shelved,
        "queues": dict(snapshot.queues),
        "workers": {queue: snapshot.workers_of(queue) for queue in snapshot.queues},
        "beat_alive": snapshot.is_beat_alive,
        "produced_at_ms": snapshot.vitals.produced_at_ms,
        "redis_memory_bytes": snapshot.vitals.memory_bytes,
        "redis_max_memory_bytes": snapshot.vitals.max_memory_bytes,
        "start_entries": {"in_hand": snapshot.vitals.claims, **snapshot.starts},
        "times_ms": {what: _times(snapshot, what) for what in ("wait", "fetch", "parse")},
        "sites": [site_row(site) for site in snapshot.sites],
    }


def site_row(site: SiteSnapshot) -> dict[str, object]:
    """Give a site as JSON values."""
    census = site.census
    return {
        "site": site.name,
        "paused": site.is_paused,
        "capped": dict(site.capped),
        "slowdown": site.slowdown,
        "opens_at_ms": census.opens_at_ms,
        "quarantined": {stage.value: asdict(shut) for stage, shut in site.quarantined.items()},
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
        "cut": site.cut,
        "failed": dict(site.failed),
        "expired_leases": census.count("expired"),
        "lost_messages": census.count("lost"),
        "stages": {stage.value: asdict(census.stages[stage]) for stage in Stage},
        "boards": asdict(site.boards),
        "balances": census.is_balanced,
        "attempts": census.count("attempts"),
        "guard_size": census.guarded,
        "statuses": dict(site.statuses),
        "dropped": dict(site.dropped),
        "given_up": {f"{fate}:{reason}": count for (fate, reason), count in site.fates.items() if fate != "delayed"},
        "retried": {reason: count for (fate, reason), count in site.fates.items() if fate == "delayed"},
        "wire_bytes": site.stat("wire"),
        "body_bytes": site.stat("body"),
        "throttled_ms": site.stat("rest_ms"),
        "items": {
            kind.value: {
                change: site.stat(f"{kind.value}:{change}") for change in ("new", "filled", "changed", "unchanged")
            }
            for kind in Kind
        },
        "freshness_s": _quantiles(site.freshness),
    }


def site_detail(
    site: SiteSnapshot, boards: Sequence[BoardState], pages: Sequence[RecentPage], graves: Sequence[Grave]
) -> dict[str, object]:
    """Give a site as JSON values, with what is too much for all sites at once: boards, recent pages, graves."""
    return {
        **site_row(site),
        "board_states": [board_row(board) for board in boards],
        "recent_pages": [asdict(page) for page in pages],
        "graves": [{**asdict(grave), "request": grave.request._asdict()} for grave in graves],
    }


def board_row(board: BoardState) -> dict[str, object]:
    """Give a board as JSON values."""
    row = asdict(replace(board, ages=NO_AGES))
    del row["ages"]
    return {**row, "freshness_s": _quantiles(board.ages)}


def _times(snapshot: Snapshot, what: str) -> dict[str, object]:
    return {stage.value: _quantiles(snapshot.times(what, stage)) for stage in Stage}


def _quantiles(histogram: Histogram) -> dict[str, float | None]:
    return {"count": histogram.count, "p50": histogram.quantile(0.5), "p95": histogram.quantile(0.95)}
