"""Site actions of the status page: the reads of one site, and the commands of an operator (pause, resume, retry)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple, cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedKind, FailedRequest, Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.frontier.inspect.recent import RecentPage
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.model import Request, State
from crawl_tasks.operate.decisions import operator
from crawl_tasks.operate.failed import FailedChoice, newest_failures, retry_failed, retry_page
from crawl_tasks.operate.pause import pause_sites, resume_sites

log = logging.getLogger(__name__)

MOST_BOARDS = 300
MOST_SORTED = 50_000
FAILED_ROWS = 200
RETRIED_AT_ONCE = 1000
_WHO = "the status page"
_ORDERS: Mapping[str, Callable[[FailedRequest], tuple[object, ...]]] = {
    "newest": lambda failure: (-failure.at_ms,),
    "oldest": lambda failure: (failure.at_ms,),
    "reason": lambda failure: (failure.reason, -failure.at_ms),
    "address": lambda failure: (failure.request.address,),
}

Read = Callable[[KeptPage], Mapping[str, str]]


class FailedFilter(NamedTuple):
    """The failed requests that a page shows: by state, reason, and words of address or details, in an order."""

    state: State = State.DEAD
    reason: str = ""
    words: str = ""
    order: str = "newest"
    page: int = 1

    def fields(self) -> dict[str, str | int]:
        """Return the query as the fields of an address."""
        return {**self._asdict(), "state": self.state.value}

    def fits(self, failure: FailedRequest) -> bool:
        """Return whether address and details hold all words."""
        text = f"{failure.request.address} {failure.details}".casefold()
        return all(word in text for word in self.words.casefold().split())


class Actions:
    """The reads and commands on the ledger that a browser may use."""

    def __init__(self, cells: Cells, database_url: str, read: Read = lambda _page: {}) -> None:
        """Make the actions. `read` returns the fields that today's rules read from a kept page."""
        self._cells = cells
        self._database_url = database_url
        self._read = read

    def boards(self, site: str) -> list[BoardState]:
        """Return boards, the most overdue first and those being scanned last."""
        boards = Inspector(self._cells.of(site)).boards(site)
        return sorted(boards, key=lambda board: (board.open_pages > 0, board.due_at_ms))[:MOST_BOARDS]

    def titles(self, site: str) -> dict[str, str]:
        """Return the titles of boards that have one, by board."""
        file = json.loads(self._cells.of(site).sites.published(site) or "{}")
        boards = (board for board in file.get("boards", ()) if isinstance(board, dict))
        return {str(board["id"]): str(board["title"]) for board in boards if board.get("title")}

    def recent(self, site: str) -> list[RecentPage]:
        """Return the last fetched pages, the newest first."""
        return Inspector(self._cells.of(site)).recent(site)

    def in_hand(self, site: str) -> list[Request]:
        """Return the requests that workers have leased now."""
        return Inspector(self._cells.of(site)).in_hand(site)

    def failed_requests(self, site: str) -> list[FailedRequest]:
        """Return some of the failed requests (dead or parked), the newest first."""
        return newest_failures(self._cells.of(site), site)

    def failed_page(self, site: str, query: FailedFilter) -> list[FailedRequest]:
        """Return a page of a site's failed requests. Of more than MOST_SORTED, only so many are looked at."""
        chosen = Selection(site, query.state, query.reason)
        every = filter(query.fits, Admin(self._cells.of(site)).failed.requests.list(chosen))
        failures = sorted(islice(every, MOST_SORTED), key=_ORDERS.get(query.order, _ORDERS["newest"]))
        return failures[(query.page - 1) * FAILED_ROWS : query.page * FAILED_ROWS]

    def failed_request(self, site: str, rid: str) -> tuple[FailedRequest, KeptPage | None, Mapping[str, str]]:
        """Return a failed request, its kept page if there is one, and the fields that today's rules read from that.

        Raises:
            ConfigError: the request does not wait for a person any more.
        """
        frontier = self._cells.of(site)
        failure = cast(FailedRequest, Admin(frontier).failed.requests.show(Selection(site, ids=(rid,))))
        pages = frontier.kept_pages.kept(site, failure.request.stage)
        kept = next((page for page in pages if page.rid == failure.rid), None)
        return failure, kept, self._read(kept) if kept else {}

    def do(self, verb: str, site: str, rid: str = "", why: str = "") -> None:
        """Run the command of a button with the reason for it, that of a single request with its `rid`.

        Raises:
            ConfigError: there is no such verb or site.
        """
        # The name comes from the path of the request, which a person can write by hand.
        frontier = self._cells.of(site)
        if not frontier.sites.is_published(site):
            raise ConfigError("there is no such site")
        is_stored = True
        match verb:
            case "pause":
                is_stored = pause_sites({site: frontier}, operator(_WHO, why), self._database_url)
            case "resume":
                is_stored = resume_sites({site: frontier}, operator(_WHO, why), self._database_url)
            case "retry" if rid:
                retry_page(frontier, site, rid)
            case "retry-dead":
                self._retry(site, State.DEAD)
            case "retry-parked":
                self._retry(site, State.PARKED)
            case _:
                raise ConfigError("there is no such action")
        log.warning("an operator acted on the status page", extra={"site": site, "action": verb})
        if not is_stored:
            log.warning("not in the database yet: a store worker writes this there", extra={"site": site})

    def _retry(self, site: str, state: State) -> None:
        selection = Selection(state=state, most=RETRIED_AT_ONCE)
        retry_failed(self._cells, FailedChoice(FailedKind.PAGE, selection, (site,)))
