"""What the status page reads of one site, and what it lets an operator do."""

from __future__ import annotations

import logging
from itertools import islice

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.gauges import BoardState
from crawl_tasks.frontier.graves import Grave
from crawl_tasks.frontier.recent import RecentPage
from crawl_tasks.model import Request, State

log = logging.getLogger(__name__)

MOST_BOARDS = 300
MOST_GRAVES = 50
REVIVED_AT_ONCE = 1000


class Actions:
    """The doors to the ledger that a browser may use."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier = frontier

    def boards(self, site: str) -> list[BoardState]:
        """Give boards, those first that are due longest."""
        boards = sorted(self._frontier.boards(site), key=lambda board: (board.open_pages > 0, board.due_at_ms))
        return boards[:MOST_BOARDS]

    def recent(self, site: str) -> list[RecentPage]:
        """Give the last pages that were fetched, the newest first."""
        return self._frontier.recent(site)

    def in_hand(self, site: str) -> list[Request]:
        """Give what workers hold now."""
        return self._frontier.in_hand(site)

    def graves(self, site: str) -> list[Grave]:
        """Give some of the requests that were given up or parked, the newest first."""
        found = [
            grave
            for state in (State.PARKED, State.DEAD)
            for grave in islice(self._frontier.graves.read(site, state), MOST_GRAVES)
        ]
        return sorted(found, key=lambda grave: -grave.at_ms)

    def do(self, verb: str, site: str) -> None:
        """Do what a button says.

        Raises:
            ConfigError: there is no such verb or site.
        """
        if site not in self._frontier.sites.names():
            raise ConfigError("there is no such site")
        match verb:
            case "pause":
                self._frontier.sites.pause(site)
            case "resume":
                self._frontier.sites.resume(site)
            case "retry-dead":
                self._frontier.graves.revive(site, State.DEAD, most=REVIVED_AT_ONCE)
            case "retry-parked":
                self._frontier.graves.revive(site, State.PARKED, most=REVIVED_AT_ONCE)
            case _:
                raise ConfigError("there is no such action")
        log.warning("an operator acted on the status page", extra={"site": site, "action": verb})
