"""The page of one site: boards, requests in hand, failed requests with reasons, and the commands of an operator."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.frontier.inspect.recent import RecentPage
from crawl_tasks.frontier.inspect.request_counts import LATE_MS
from crawl_tasks.model import Request
from crawl_tasks.monitor.charts import bars, number
from crawl_tasks.monitor.history import History
from crawl_tasks.monitor.humanize import counted, duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.actions import RETRIED_AT_ONCE, Actions
from crawl_tasks.web.failed_pages import failed_links, failed_table
from crawl_tasks.web.layout import WebUser, frame, hidden, table
from crawl_tasks.web.overview import on_time_tile, plots, problem_paragraph, quantiles, state, tile, tiles_of, troubles

REFRESH_S = 20
_FINE = {"gone", "unchanged"}
"""Outcomes without items that nobody has to mend."""


def site_page(site: SiteSnapshot, snapshot: Snapshot, history: History, user: WebUser, actions: Actions) -> str:
    """Return the page."""
    # With only this site: the problems of a thousand others would be found only to be thrown away.
    current = CurrentProblems(replace(snapshot, sites=(site,)))
    next_steps = "".join(problem_paragraph(problem, problem.advice(site.name)) for problem in current.own(site))
    name, statuses = site.name, sorted(site.statuses.items())
    body = (
        f"{troubles(current)}<h2>{escape(site.name)} {state(site)}</h2>"
        f"{next_steps}{_actions(site, user)}"
        f"{_tiles(site, snapshot, history)}{plots(history, site.name)}"
        f'<div class="plots">{bars(statuses, "answers by status")}'
        f"{bars(sorted(site.failed.items(), key=lambda row: -row[1]), 'failed attempts by reason')}"
        f"{_dropped(site)}</div>"
        f"<h2>{gettext('Boards')}</h2>{_boards(actions.boards(name), actions.titles(name), snapshot.at_ms)}"
        f"<h2>{gettext('In hand')}</h2>{_in_hand(actions.in_hand(name))}"
        f"<h2>{gettext('Last pages')}</h2>{_recent(actions.recent(name), snapshot.at_ms)}"
        f"<h2>{gettext('Given up (dead) and parked')}</h2>{failed_links(site)}"
        f"{failed_table(actions.failed_requests(name), user)}"
    )
    return frame(f"{site.name} · crawl_tasks", body, user, REFRESH_S, snapshot.at_ms)


def _tiles(site: SiteSnapshot, snapshot: Snapshot, history: History) -> str:
    counts = site.counts
    return tiles_of(
        [
            on_time_tile(site.boards.on_time, site.boards.total),
            tile("longest overdue", duration(site.late_s(snapshot.at_ms))),
            *(
                tile(gettext("{stage} pages done", stage=stage.value), number(count.done))
                for stage, count in counts.stages.items()
            ),
            tile("ready / queued", f"{number(counts.ready)} / {number(counts.released)}"),
            tile("in hand / delayed", f"{number(counts.leased)} / {number(counts.delayed)}"),
            tile("new / changed posts", f"{number(site.stat('post:new'))} / {number(site.stat('post:changed'))}"),
            tile("new comments", number(site.stat("comment:new"))),
            tile("freshness p50 / p95", quantiles(history.freshness(site.name))),
            tile("known to the guard", number(counts.guarded)),
        ]
    )


def _dropped(site: SiteSnapshot) -> str:
    rows = sorted(site.dropped.items(), key=lambda row: -row[1])
    return bars(rows, "items not given to the store, by reason") if rows else ""


def _actions(site: SiteSnapshot, user: WebUser) -> str:
    if not user.is_in:
        return ""
    gates = [("resume", gettext("resume"))] if site.is_paused or site.is_draining else []
    gates += [] if site.is_paused else [("pause", gettext("pause"))]
    dead, parked = _at_once(site.counts.dead), _at_once(site.counts.parked)
    retries = [("retry-dead", gettext("retry {count} given up", count=dead))] if site.counts.dead else []
    retries += [("retry-parked", gettext("retry {count} parked", count=parked))] if site.counts.parked else []
    # Kept with the decision, as the --why of the commands.
    why = f'<label>{gettext("Reason")} <input name="why" maxlength="500"></label>'
    forms = [_form(site, verb, f"{why}<button>{text}</button>", user) for verb, text in gates]
    forms += [_form(site, verb, f"<button>{text}</button>", user) for verb, text in retries]
    return f'<div class="actions">{"".join(forms)}</div>'


def _form(site: SiteSnapshot, verb: str, content: str, user: WebUser) -> str:
    return f'<form method="post" action="/site/{escape(site.name)}/{verb}">{hidden(user)}{content}</form>'


def _at_once(count: int) -> str:
    text = gettext("{count} of {total}", count=RETRIED_AT_ONCE, total=count)
    return text if count > RETRIED_AT_ONCE else str(count)


_HEATS = (1.5, 3.0, 10.0)
"""The age of a board's last scan, in its intervals, from which on its field is of the next colour."""


def _heat_map(boards: Sequence[BoardState], titles: Mapping[str, str], now_ms: int) -> str:
    """Return a field for each board: its title, the age of its last scan, and a colour by that age."""
    fields = []
    for board in boards:
        age_ms = now_ms - board.scanned_at_ms
        heat, seen = len(_HEATS), gettext("gone") if board.gone_at_ms else gettext("never scanned")
        if board.scanned_at_ms and not board.gone_at_ms:
            heat, seen = bisect(_HEATS, age_ms / max(1, board.interval_ms)), _ago(age_ms)
        fields.append(
            f'<li class="h{heat}"><b>{escape(titles.get(board.board) or board.board)}</b>'
            f"{gettext('held') if board.is_held else seen}</li>"
        )
    return f'<ul class="heat">{"".join(fields)}</ul>' if fields else ""


def _ago(ms: float) -> str:
    return gettext("{duration} ago", duration=duration(ms / 1000))


def _boards(boards: Sequence[BoardState], titles: Mapping[str, str], now_ms: int) -> str:
    rows = (
        (
            f"{escape(board.board)} {escape(titles.get(board.board, ''))}",
            _ago(now_ms - board.scanned_at_ms) if board.scanned_at_ms else gettext("never"),
            _due(board, now_ms),
            duration(board.interval_ms / 1000),
            quantiles(board.ages),
        )
        for board in boards
    )
    all_ = table(("board", "scanned", "due", "every", "freshness p50 / p95"), rows, "no boards")
    return f"{_heat_map(boards, titles, now_ms)}<details><summary>{gettext('as a table')}</summary>{all_}</details>"


def _due(board: BoardState, now_ms: int) -> str:
    if board.open_pages:
        text = gettext("being scanned, {pages} open", pages=counted(board.open_pages, "page"))
        return f'<span class="good">{text}</span>'
    wait_ms = board.due_at_ms - now_ms
    if wait_ms > 0:
        return gettext("in {duration}", duration=duration(wait_ms / 1000))
    since = gettext("since {duration}", duration=duration(-wait_ms / 1000))
    return f'<span class="{"bad" if -wait_ms > LATE_MS else ""}">{since}</span>'


def _in_hand(requests: Sequence[Request]) -> str:
    return table(
        ("stage", "address"), ((request.stage.value, escape(request.address)) for request in requests), "nothing"
    )


def _recent(pages: Sequence[RecentPage], now_ms: int) -> str:
    rows = (
        (
            _ago(max(0, now_ms - page.at_ms)),
            page.stage.value,
            str(page.status or "–"),
            f"{page.fetch_ms} ms",
            _outcome(page),
            escape(page.address),
        )
        for page in pages
    )
    return table(("fetched", "stage", "status", "took", "gave", "address"), rows, "none yet")


def _outcome(page: RecentPage) -> str:
    if page.outcome.isdigit():
        return counted(int(page.outcome), "item")
    return f'<span class="{"quiet" if page.outcome in _FINE else "bad"}">{escape(page.outcome)}</span>'
