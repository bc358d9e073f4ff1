"""The pages that the guard knows although they are neither stored nor open: nothing would ever fetch them.

The guard holds hashes, so that such a page has no name. It is found in this direction only: `recover --force` forgets
it, and its list names it again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.entry import guard_address
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.wire.guard_marks import ADDRESS_BITS, PARTS, SOURCE_STEP, WHEN_GONE
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_publisher import read_or_none
from crawl_tasks.sites.schema import BoardKind
from crawl_tasks.store.queries import remembered
from crawl_tasks.store.upsert import Store

MOST_AT_ONCE: Final = 1_000_000
"""Addresses in memory, some 100 bytes each. Of a site with more pages the database is read several times."""

_STAGES: Final = (Stage.POST, Stage.COMMENT)


def unstored_pages(frontier: Frontier, store: Store, site: str, open_pages: Collection[int]) -> set[tuple[Stage, int]]:
    """Return the stage and the guard's address of each such page. `open_pages` are those in the ledger.

    A list of the news of other boards, or a front page, has entries of the guard that are no pages: no such site is
    judged. Nor is one of which pages wait to be stored, or were rejected.
    """
    text, audit = frontier.sites.published(site), Admin(frontier).audit
    published = read_or_none(text) if text else None
    if published is None or any(board.kind is not BoardKind.LIST for board in published.own_boards):
        return set()
    unstored = {(stage, entry) for stage in _STAGES for entry in audit.guard_entries(site, stage)}
    # Looked at behind the guard: what was done before this is stored, unless it waits.
    if frontier.outbox.size() > 0 or Admin(frontier).failed.items.size() > 0:
        return set()
    parts = min(len(unstored) // MOST_AT_ONCE + 1, PARTS)
    for part in range(parts):
        known = {number for number in open_pages if _part_of(number, parts) == part}
        for page in remembered(store, site):
            number = guard_address(page.request.stage, page.request.key, page.request.page)
            if _part_of(number, parts) == part:
                known.add(number)
        unstored -= {(stage, entry) for stage, entry in unstored if _is_of(entry, known)}
    return unstored


def _part_of(number: int, parts: int) -> int:
    return number % PARTS % parts


def _is_of(entry: int, known: set[int]) -> bool:
    """Return whether an entry is that of a page, or one beside it: look_up_source() of guard.lua."""
    if entry in known:
        return True
    pages = ((entry - source * SOURCE_STEP) % (1 << ADDRESS_BITS) for source in range(1, WHEN_GONE + 1))
    return any(page in known for page in pages)
