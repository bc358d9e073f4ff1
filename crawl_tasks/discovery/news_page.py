"""The news page: a page of the newest replies over all boards, named by the preset and tried by the rules for lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from crawl_tasks.discovery.dry_run import DryRun, attempt
from crawl_tasks.discovery.http_probe import HttpProbe
from crawl_tasks.model import Post, Request, Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.board import Board, BoardKind
from crawl_tasks.sites.schema import Site

NEWS = "news"
"""The id of the board that is the news page."""

MOST_TRIED = 2
ORDERED = 0.8
"""The least share of neighbours with the newer reply first. Pinned threads, and replies meanwhile, break the order."""


def find_news_page(
    probe: HttpProbe, site: Site, paths: Sequence[str], listed: DryRun, contact: str | None
) -> tuple[str, str]:
    """Return the path of the first page of all news that the rules read, and the reason why it is one, else two empty.

    `paths` are the candidates of the preset, and `listed` is the dry run of a board's page, with rows.
    """
    for path in paths[:MOST_TRIED]:
        board = Board(id=NEWS, kind=BoardKind.NEWS, address=path)
        opened = compile_site(site.model_copy(update={"named_boards": (board,)}), contact)
        trial = attempt(probe, opened, Request(site.name, Stage.LIST, NEWS, site.base + path))
        reason = news_reason(_posts(trial), _posts(listed))
        if reason:
            return path, reason
    return "", ""


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
    return 2 * sum(one == other for one, other in pairs) > len(pairs)


def _posts(trial: DryRun) -> list[Post]:
    return [row for row in trial.rows if isinstance(row, Post)]
