"""A snapshot as JSON values, for `--json`, the HTTP API and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from crawl_tasks.frontier.admin.failed import FailedRequest
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.frontier.inspect.reads import NO_AGES, BoardState
from crawl_tasks.frontier.inspect.recent import RecentPage
from crawl_tasks.frontier.inspect.request_counts import ScanCounts, StageCount
from crawl_tasks.model import Kind, Stage
from crawl_tasks.monitor.output_language import english
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot, by_state
from crawl_tasks.monitor.snapshot import Snapshot


def snapshot_row(snapshot: Snapshot) -> dict[str, object]:
    """Return a snapshot as JSON values, with the problems that hold."""
    return {
        "at_ms": snapshot.at_ms,
        "cells": {cell.name: False for cell in snapshot.down} | {part.cell: True for part in snapshot.parts},
        "outbox": snapshot.outbox,
        "rejected": snapshot.health.rejected,
        "halted": snapshot.health.halted,
        "refusal": snapshot.health.refusal,
        "problems": _problem_rows(snapshot),
        "queues": dict(snapshot.queues),
        "workers": {queue: snapshot.workers_of(queue) for queue in snapshot.queues},
        "processes": [
            {"name": process.name, "queues": process.queues, "version": process.version, "ahead_ms": process.ahead_ms}
            for process in snapshot.processes
        ],
        "workers_died": snapshot.died,
        "worker_starts": snapshot.health.process_health.starts,
        "alerts_at_ms": snapshot.health.process_health.alerts_at_ms,
        "beat_alive": snapshot.is_beat_alive,
        "produced_at_ms": snapshot.health.produced_at_ms,
        "redis_memory_bytes": snapshot.health.memory_bytes,
        "redis_max_memory_bytes": snapshot.health.max_memory_bytes,
        "start_entries": {"in_hand": snapshot.health.claims, **snapshot.starts},
        "times_ms": {kind: _times(snapshot, kind) for kind in ("wait", "fetch", "parse")},
        "sites": [site_row(site) for site in snapshot.sites],
    }


def _problem_rows(snapshot: Snapshot) -> list[dict[str, object]]:
    with english():
        return [problem._asdict() for problem in find_problems(snapshot)]


def site_row(site: SiteSnapshot) -> dict[str, object]:
    """Return a site as JSON values."""
    counts = site.counts
    return {
        "site": site.name,
        "paused": site.is_paused,
        "capped": dict(site.capped),
        "slowdown": site.slowdown,
        "opens_at_ms": counts.opens_at_ms,
        "open_breakers": {stage.value: asdict(breaker) for stage, breaker in site.open_breakers.items()},
        "admitted": counts.admitted,
        "known": counts.count("known"),
        "open": counts.open,
        **by_state(counts),
        "gone": site.gone,
        "cut": site.cut,
        "failed": dict(site.failed),
        "expired_leases": counts.count("expired"),
        "lost_messages": counts.count("lost"),
        "stages": {stage.value: _numbers(counts.stages[stage]) for stage in Stage},
        "boards": {**_numbers(site.boards), "on_time": site.boards.on_time},
        "unwatched_boards": [board._asdict() for board in counts.unwatched],
        "failed_in_a_row": site.failed_in_a_row,
        "no_page_since_ms": site.failing.since_ms,
        "further_requests": site.stat("further"),
        "draining": site.is_draining,
        "stopped_at_ms": site.stopped_at_ms,
        "balances": counts.is_balanced,
        "attempts": counts.count("attempts"),
        "guard_size": counts.guarded,
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
        "expected": asdict(site.expected) if site.expected else None,
    }


def _numbers(counts: StageCount | ScanCounts) -> dict[str, int]:
    # asdict copies each value on its own, a tenth of the work for a site.
    return {name: getattr(counts, name) for name in counts.__slots__}


def site_detail(
    site: SiteSnapshot, boards: Sequence[BoardState], pages: Sequence[RecentPage], failed: Sequence[FailedRequest]
) -> dict[str, object]:
    """Return a site as JSON values, with its boards, recent pages and failed requests."""
    return {
        **site_row(site),
        "board_states": [board_row(board) for board in boards],
        "recent_pages": [asdict(page) for page in pages],
        "failed_requests": [{**asdict(failure), "request": failure.request._asdict()} for failure in failed],
    }


def board_row(board: BoardState) -> dict[str, object]:
    """Return a board as JSON values."""
    # The histogram is shown by its quantiles. asdict would copy its many counts first, only to drop them.
    row = asdict(replace(board, ages=NO_AGES))
    del row["ages"]
    return {**row, "freshness_s": _quantiles(board.ages)}


def _times(snapshot: Snapshot, kind: str) -> dict[str, object]:
    return {stage.value: _quantiles(snapshot.times(kind, stage)) for stage in Stage}


def _quantiles(histogram: Histogram) -> dict[str, float | None]:
    return {"count": histogram.count, "p50": histogram.quantile(0.5), "p95": histogram.quantile(0.95)}
