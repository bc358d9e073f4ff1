"""Conditions of the problems of watching a site: whether pages come, and whether each board is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from crawl_tasks.errors import AccessDenied, Challenged
from crawl_tasks.frontier.inspect.request_counts import UnwatchedBoard, UnwatchedState
from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.kinds import Fields
from crawl_tasks.monitor.problems.window import Window
from crawl_tasks.monitor.site_snapshot import SiteSnapshot

NO_PAGE_LEAST: Final = 3
"""Attempts without a single page that came, from which on no page comes."""
NO_PAGE_S: Final = 60
"""Time in seconds for which no page came. A busy site has that many failures in a row within a second, by chance."""
LONG_S: Final = 86_400
"""Time in seconds after which a decision that stops a site or a board is told as a warning."""
BACKLOG_SHARE: Final = 0.5
MOST_NAMED: Final = 10
DENIALS: Final = (AccessDenied.reason, Challenged.reason)
"""Reasons of pages that the forum keeps from us: by a status, or by a wall against robots."""


def no_pages(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites from which no page came though they were asked, with the time, the attempts and the reasons."""
    for site in window.active:
        if site.failed_in_a_row < NO_PAGE_LEAST:
            continue
        since_s = site.no_page_s(window.snapshot.at_ms)
        if since_s >= NO_PAGE_S and not window.is_resting(site):
            reason = ", ".join(site.failing.reasons) or gettext("reason unknown")
            yield site.name, {"count": site.failed_in_a_row, "duration": duration(since_s), "reason": reason}


def fails_all(site: SiteSnapshot, reason: str) -> bool:
    """Return whether all attempts since the last page failed for a reason, many of them or a board's first page.

    A wall against robots counts as a denial.
    """
    alike = DENIALS if reason in DENIALS else (reason,)
    if not site.failed_in_a_row or not site.failing.reasons or not set(site.failing.reasons).issubset(alike):
        return False
    return site.failed_in_a_row >= NO_PAGE_LEAST or any(board.reason in alike for board in site.unread)


def boards_unwatched(site: SiteSnapshot) -> Fields | None:
    """Return the boards whose first page was given up at the last scan, and the reasons."""
    return _named(site.unread, site.boards.total)


def boards_empty(site: SiteSnapshot) -> Fields | None:
    """Return the boards that showed threads once, and none at the last scan."""
    return _named(site.troubles(UnwatchedState.EMPTY), site.boards.total)


def boards_held(window: Window, *, is_long: bool) -> Iterator[tuple[str, Fields]]:
    """Return the sites with boards that an operator holds, or has held for more than a day."""
    for site in window.active:
        held = site.troubles(UnwatchedState.HELD)
        if held and (site.held_s(window.snapshot.at_ms) > LONG_S) == is_long:
            yield site.name, _named(held, site.boards.total) or {}


def _named(boards: Sequence[UnwatchedBoard], total: int) -> Fields | None:
    unwatched = sorted(boards, key=lambda board: (len(board.board), board.board)) if boards else None
    if not unwatched:
        return None
    texts = [
        f"{board.board} ({board.reason})" if board.reason != "-" else board.board for board in unwatched[:MOST_NAMED]
    ]
    boards_text = ", ".join(texts) + ", …" * (len(unwatched) > MOST_NAMED)
    count = gettext("{late} of {total}", late=len(unwatched), total=total)
    return {"count": count, "boards": boards_text, "board": unwatched[0].board, "state": unwatched[0].trouble.value}


def backlog_full(site: SiteSnapshot) -> Fields | None:
    """Return how many requests are open where due boards wait for room below `max_backlog`."""
    # Never as many as `max_backlog` says: a scan is admitted only with room for the pages that it brings.
    limit, count = site.counts.count("max_backlog"), site.counts.open
    is_held_back = bool(limit and site.boards.overdue) and not site.is_draining
    return {"count": count} if is_held_back and count >= BACKLOG_SHARE * limit else None


def boards_late(site: SiteSnapshot) -> Fields | None:
    """Return how many boards are late."""
    boards = site.boards
    count = gettext("{late} of {total}", late=boards.late, total=boards.total)
    return {"count": count} if boards.late and not site.is_draining else None


def boards_gone(site: SiteSnapshot) -> Fields | None:
    """Return the number of boards whose first page the forum calls gone."""
    count = site.counts.count("gone_boards")
    return {"count": count} if count else None


def boards_new(site: SiteSnapshot) -> Fields | None:
    """Return the boards that are new at the forum, and their number."""
    boards = site.new_boards
    named = ", ".join(boards[:MOST_NAMED]) + ", …" * (len(boards) > MOST_NAMED)
    return {"count": len(boards), "boards": named} if boards else None


def scan_gaps(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites of which scans showed nothing but news lately, with their number and the last one's board."""
    for site in window.active:
        if gap := site.scan_gap(window.snapshot.at_ms):
            yield site.name, {"count": gap[0], "board": gap[1]}


def draining(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites that finish their open requests and begin no scan, since less than a day."""
    for site in window.active:
        if site.is_draining and site.stopped_s(window.snapshot.at_ms) <= LONG_S:
            yield site.name, {"decided": site.decided}


def paused(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites that an operator has paused, since less than a day."""
    for site in window.snapshot.sites:
        if site.is_paused and site.stopped_s(window.snapshot.at_ms) <= LONG_S:
            yield site.name, {"decided": site.decided}


def stopped_long(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites that an operator paused or drained more than a day ago."""
    for site in window.snapshot.sites:
        if (stopped_s := site.stopped_s(window.snapshot.at_ms)) > LONG_S:
            state = gettext("paused") if site.is_paused else gettext("draining")
            yield site.name, {"state": state, "duration": duration(stopped_s), "decided": site.decided}


def withdrawn(site: SiteSnapshot) -> Fields | None:
    """Return the directory that published a site and has no file of it any more."""
    return {"publisher": site.publisher} if site.is_withdrawn else None
