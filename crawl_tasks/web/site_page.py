"""The page of one site: its boards, what is in hand, what was given up and why, and what an operator can do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from crawl_tasks.frontier.census import LATE_MS
from crawl_tasks.frontier.gauges import BoardState
from crawl_tasks.frontier.graves import Grave
from crawl_tasks.frontier.recent import RecentPage
from crawl_tasks.model import Request
from crawl_tasks.monitor.advice import counted, duration, findings
from crawl_tasks.monitor.charts import bars, number
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot
from crawl_tasks.web.actions import REVIVED_AT_ONCE
from crawl_tasks.web.layout import Visitor, frame, hidden
from crawl_tasks.web.overview import COLOURS, plots, quantiles, state, tile, troubles

REFRESH_S = 20
_FINE = {"gone", "unchanged"}
"""Outcomes without items that are none of ours to mend."""


def site_page(
    site: SiteSnapshot,
    snapshot: Snapshot,
    history: History,
    visitor: Visitor,
    *,
    boards: Sequence[BoardState],
    recent: Sequence[RecentPage],
    in_hand: Sequence[Request],
    graves: Sequence[Grave],
) -> str:
    """Write the page."""
    said = "".join(
        f'<p class="said {COLOURS[advice.level]}">{escape(advice.text)}</p>' for advice in findings(site, snapshot)
    )
    statuses = sorted(site.statuses.items())
    body = (
        f"{troubles(snapshot)}<h2>{escape(site.name)} {state(site)}</h2>"
        f"{said}{_actions(site, visitor)}"
        f"{_tiles(site, snapshot, history)}{plots(history, site.name)}"
        f'<div class="plots">{bars(statuses, "answers by status")}'
        f"{bars(sorted(site.failed.items(), key=lambda row: -row[1]), 'failed attempts by reason')}"
        f"{_dropped(site)}</div>"
        f"<h2>Boards</h2>{_boards(boards, snapshot.at_ms)}<h2>In hand</h2>{_in_hand(in_hand)}"
        f"<h2>Last pages</h2>{_recent(recent, snapshot.at_ms)}"
        f"<h2>Given up (dead) and parked</h2>{_graves(graves)}"
    )
    return frame(f"{site.name} · crawl_tasks", body, visitor, REFRESH_S, snapshot.at_ms)


def _tiles(site: SiteSnapshot, snapshot: Snapshot, history: History) -> str:
    census = site.census
    return (
        '<div class="tiles">'
        + "".join(
            [
                tile(
                    "boards on time",
                    f"{site.boards.on_time} of {site.boards.total}",
                    "bad" if site.boards.late else "good",
                ),
                tile("longest overdue", duration(site.late_s(snapshot.at_ms))),
                *(tile(f"{stage.value} pages done", number(count.done)) for stage, count in census.stages.items()),
                tile("ready / queued", f"{number(census.ready)} / {number(census.released)}"),
                tile("in hand / delayed", f"{number(census.leased)} / {number(census.delayed)}"),
                tile("new / changed posts", f"{number(site.stat('post:new'))} / {number(site.stat('post:changed'))}"),
                tile("new comments", number(site.stat("comment:new"))),
                tile("freshness p50 / p95", quantiles(history.freshness(site.name))),
                tile("known to the guard", number(census.guarded)),
            ]
        )
        + "</div>"
    )


def _dropped(site: SiteSnapshot) -> str:
    rows = sorted(site.dropped.items(), key=lambda row: -row[1])
    return bars(rows, "items not given to the store, by reason") if rows else ""


def _actions(site: SiteSnapshot, visitor: Visitor) -> str:
    if not visitor.is_in:
        return ""
    verbs = [("resume", "resume")] if site.is_paused or site.is_draining else []
    verbs += [] if site.is_paused else [("pause", "pause")]
    verbs += [("retry-dead", f"retry {_at_once(site.census.dead)} given up")] if site.census.dead else []
    verbs += [("retry-parked", f"retry {_at_once(site.census.parked)} parked")] if site.census.parked else []
    return (
        '<div class="actions">'
        + "".join(
            f'<form method="post" action="/site/{escape(site.name)}/{verb}">{hidden(visitor)}'
            f"<button>{text}</button></form>"
            for verb, text in verbs
        )
        + "</div>"
    )


def _at_once(count: int) -> str:
    return f"{REVIVED_AT_ONCE} of {count}" if count > REVIVED_AT_ONCE else str(count)


def _boards(boards: Sequence[BoardState], now_ms: int) -> str:
    rows = [
        (
            ("board", escape(board.board)),
            ("scanned", f"{duration((now_ms - board.scanned_at_ms) / 1000)} ago" if board.scanned_at_ms else "never"),
            ("due", _due(board, now_ms)),
            ("every", duration(board.interval_ms / 1000)),
            ("freshness p50 / p95", quantiles(board.ages)),
        )
        for board in boards
    ]
    return _table(rows, "no boards")


def _due(board: BoardState, now_ms: int) -> str:
    if board.open_pages:
        return f'<span class="good">being scanned, {counted(board.open_pages, "page")} open</span>'
    wait_ms = board.due_at_ms - now_ms
    if wait_ms > 0:
        return f"in {duration(wait_ms / 1000)}"
    return f'<span class="{"bad" if -wait_ms > LATE_MS else ""}">since {duration(-wait_ms / 1000)}</span>'


def _in_hand(requests: Sequence[Request]) -> str:
    return _table(
        [(("stage", request.stage.value), ("address", escape(request.address))) for request in requests], "nothing"
    )


def _recent(pages: Sequence[RecentPage], now_ms: int) -> str:
    rows = [
        (
            ("fetched", f"{duration(max(0, now_ms - page.at_ms) / 1000)} ago"),
            ("stage", page.stage.value),
            ("status", str(page.status or "–")),
            ("took", f"{page.fetch_ms} ms"),
            ("gave", _outcome(page)),
            ("address", escape(page.address)),
        )
        for page in pages
    ]
    return _table(rows, "none yet")


def _outcome(page: RecentPage) -> str:
    if page.outcome.isdigit():
        return counted(int(page.outcome), "item")
    return f'<span class="{"quiet" if page.outcome in _FINE else "bad"}">{escape(page.outcome)}</span>'


def _graves(graves: Sequence[Grave]) -> str:
    rows = [
        (
            ("state", grave.state.value),
            ("since", datetime.fromtimestamp(grave.at_ms / 1000, UTC).strftime("%m-%d %H:%M:%SZ")),
            ("reason", escape(grave.reason)),
            ("page", f"{grave.request.stage.value} {escape(grave.request.address)}"),
            ("details", escape(grave.details)),
        )
        for grave in graves
    ]
    return _table(rows, "none")


def _table(rows: Sequence[Sequence[tuple[str, str]]], none: str) -> str:
    if not rows:
        return f'<p class="quiet">{none}</p>'
    head = "".join(f'<th scope="col">{name}</th>' for name, _ in rows[0])
    wide = {"address", "page", "details"}
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-name="{name}" class="{"row wide" if name in wide else "nowrap"}">{text}</td>'
            for name, text in row
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="sites"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
