"""Site actions of the status page: the reads of one site, and the commands of an operator (pause, resume, retry)."""

from __future__ import annotations

import logging
from itertools import islice

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import FailedRequest, Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import BoardState
from crawl_tasks.frontier.inspect.recent import RecentPage
from crawl_tasks.model import Operator, Request, State

log = logging.getLogger(__name__)

MOST_BOARDS = 300
MOST_FAILED = 50
FAILED_ROWS = 200
RETRIED_AT_ONCE = 1000
_OPERATOR = Operator("the status page")


class Actions:
    """The reads and commands on the ledger that a browser may use."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def boards(self, site: str) -> list[BoardState]:
        """Return boards, the most overdue first and those being scanned last."""
        boards = Inspector(self._cells.of(site)).boards(site)
        return sorted(boards, key=lambda board: (board.open_pages > 0, board.due_at_ms))[:MOST_BOARDS]

    def recent(self, site: str) -> list[RecentPage]:
        """Return the last fetched pages, the newest first."""
        return Inspector(self._cells.of(site)).recent(site)

    def in_hand(self, site: str) -> list[Request]:
        """Return the requests that workers have leased now."""
        return Inspector(self._cells.of(site)).in_hand(site)

    def failed_requests(self, site: str) -> list[FailedRequest]:
        """Return some of the failed requests (dead or parked), the newest first."""
        requests = Admin(self._cells.of(site)).failed.requests
        found = [
            one
            for state in (State.PARKED, State.DEAD)
            for one in islice(requests.list(Selection(site, state)), MOST_FAILED)
        ]
        return sorted(found, key=lambda one: -one.at_ms)

    def failed_page(self, chosen: Selection, page: int) -> list[FailedRequest]:
        """Return a page of a site's failed requests, from 1, in the order of the ledger: Redis keeps none by time."""
        found = Admin(self._cells.of(chosen.site)).failed.requests.list(chosen)
        return list(islice(found, (page - 1) * FAILED_ROWS, page * FAILED_ROWS))

    def do(self, verb: str, site: str) -> None:
        """Run the command of a button.

        Raises:
            ConfigError: there is no such verb or site.
        """
        # The name comes from the path of the request, which a person can write by hand.
        frontier = self._cells.of(site)
        if not frontier.sites.is_published(site):
            raise ConfigError("there is no such site")
        requests = Admin(frontier).failed.requests
        match verb:
            case "pause":
                frontier.sites.pause(site, _OPERATOR)
            case "resume":
                frontier.sites.resume(site, _OPERATOR)
            case "retry-dead":
                requests.retry(Selection(site, State.DEAD, most=RETRIED_AT_ONCE))
            case "retry-parked":
                requests.retry(Selection(site, State.PARKED, most=RETRIED_AT_ONCE))
            case _:
                raise ConfigError("there is no such action")
        log.warning("an operator acted on the status page", extra={"site": site, "action": verb})
