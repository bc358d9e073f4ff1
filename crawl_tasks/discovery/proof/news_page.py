"""The pages that tell of all boards: one of the newest replies, and the front page with counts, both tried."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.dry_run import DryRun, attempt
from crawl_tasks.model import Post, Request, Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.board import Board, BoardKind
from crawl_tasks.sites.board_index_spec import IndexSpec
from crawl_tasks.sites.schema import Site

MOST_TRIED = 2
ORDERED = 0.8
"""The least share of neighbours with the newer reply first. Pinned threads, and replies meanwhile, break the order."""
STALE_S = 3600
"""The most that a front page may be behind a board's list. Forums round "1 hour ago" down."""


SELDOM_S = 86_400
LEAST_LINKED = 2
OURS = 0.75
"""The least share of the file's boards among those that a page links. A loose address reads any link as a board."""


class NewsPage(NamedTuple):
    """A page that tells of all boards, and the reason why it is one. The kind is its id too.

    A page with an interval, in seconds, is read for the boards that the forum opens.
    """

    kind: BoardKind
    path: str
    reason: str
    interval_s: int | None = None


def find_news_pages(
    probe: HttpProbe, site: Site, index: IndexSpec, listed: DryRun, contact: str | None
) -> tuple[NewsPage, ...]:
    """Return the first page of all news that the rules read, and the front page if its rows have counts.

    `index` names the candidates, and `listed` is the dry run of a board's page, with rows.
    """
    pages = []
    for path in index.news[:MOST_TRIED]:
        reason = news_reason(_posts(_tried(probe, site, BoardKind.NEWS, path, contact)), _posts(listed))
        if reason:
            pages.append(NewsPage(BoardKind.NEWS, path, reason))
            break
    if site.front is None:
        return tuple(pages)
    # The boards were mostly found on one of them, which is not asked for again.
    known = [path for path in index.address if site.base + path in probe.asked]
    for path in known or index.address[:1]:
        pings = _pings(_tried(probe, site, BoardKind.FRONT, path, contact))
        reason = front_reason(pings, listed.request.key, _posts(listed))
        if reason:
            pages.append(NewsPage(BoardKind.FRONT, path, reason, SELDOM_S if pages else None))
            break
    return tuple(pages)


def find_linking_page(probe: HttpProbe, site: Site, urls: Sequence[str], contact: str | None) -> NewsPage | None:
    """Return the first page whose links lead to the boards of a site, and hardly to others: it will show new ones.

    A board's own page is read anyway.
    """
    boards = {board.id for board in site.boards if board.kind is BoardKind.LIST}
    opened = compile_site(site, contact)
    lists = {opened.address(Stage.LIST, board, 1) for board in boards}
    for url in urls:
        path = url.removeprefix(site.base)
        if BoardKind.FRONT in boards or not path.startswith("/") or not probe.has(url) or url in lists:
            continue
        linked = {ping.key for ping in _pings(_tried(probe, site, BoardKind.FRONT, path, contact))}
        ours = len(linked & boards)
        if ours >= max(LEAST_LINKED, OURS * len(linked)):
            return NewsPage(BoardKind.FRONT, path, f"it links {ours} boards", SELDOM_S)
    return None


def _tried(probe: HttpProbe, site: Site, kind: BoardKind, path: str, contact: str | None) -> DryRun:
    board = Board(id=kind.value, kind=kind, address=path)
    opened = compile_site(site.model_copy(update={"named_boards": (board,)}), contact)
    return attempt(probe, opened, Request(site.name, Stage.LIST, board.id, site.base + path))


def _pings(trial: DryRun) -> Sequence[Request]:
    return trial.parsed.children if trial.parsed else ()


def front_reason(pings: Sequence[Request], key: str, board: Sequence[Post]) -> str:
    """Return why a front page tells of all boards, empty if it does not. `board` are the rows of the board `key`."""
    posted = {ping.key: int(ping.revision.partition("|")[0]) for ping in pings}
    newest = max((row.last_reply_at or 0 for row in board), default=0)
    if len(posted) < 2 or key not in posted or 0 < posted[key] < newest - STALE_S:
        return ""
    return f"{len(posted)} boards with counts of their posts"


def news_reason(rows: Sequence[Post], board: Sequence[Post]) -> str:
    """Return why rows are the newest of all boards, empty if they are not. `board` are the rows of one board."""
    times = [row.last_reply_at for row in rows if row.last_reply_at is not None]
    steps = [newer >= older for newer, older in pairwise(times)]
    if not steps or sum(steps) < ORDERED * len(steps) or not _has_same_revisions(rows, board):
        return ""
    boards = {row.forum_id for row in rows} - {None}
    others = {row.post_id for row in rows} - {row.post_id for row in board}
    if len(boards) > 1:
        return f"{len(rows)} threads of {len(boards)} boards, the newest reply first"
    # Rows that do not name their board are of several boards if the board that was tried lacks some.
    return f"{len(rows)} threads, {len(others)} of them of other boards" if others and not boards else ""


def _has_same_revisions(rows: Sequence[Post], board: Sequence[Post]) -> bool:
    """Return whether both pages show the same revision of a thread. Else each scan would ask for the thread again."""
    known = {row.post_id: row.revision for row in board}
    pairs = [(row.revision, known[row.post_id]) for row in rows if row.post_id in known]
    if not pairs:
        return any(row.revision for row in rows) == any(known.values())
    return 2 * sum(revision == other for revision, other in pairs) > len(pairs)


def _posts(trial: DryRun) -> list[Post]:
    return [row for row in trial.rows if isinstance(row, Post)]
