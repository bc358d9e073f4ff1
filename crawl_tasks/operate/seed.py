"""The admission of boards, posts and addresses that a person names, by the same guard as all requests."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from crawl_tasks.errors import ConfigError, FetchError, SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.logs import printable
from crawl_tasks.model import FULL_REACH, Priority, Reach, Request, Stage
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Board
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.sites.start_entry import first_page
from crawl_tasks.store import queries
from crawl_tasks.store.upsert import Store
from crawl_tasks.urls import normalize

AT_ONCE = 500
"""Pages that one call admits at most."""


class SeedRun:
    """The admission of requests for one site, one target at a time."""

    def __init__(
        self,
        frontier: Frontier,
        name: str,
        priority: int | None = None,
        reach: Reach = FULL_REACH,
        *,
        is_again: bool = False,
        is_whole: bool = False,
    ) -> None:
        text = frontier.sites.published(name)
        if text is None:
            raise ConfigError(f"site {name!r} is not published; run: crawl-tasks sites check {name}")
        self._frontier = frontier
        self._site = read_site(text)
        self._addresses = Addresses(self._site)
        self._priority = priority
        self._reach = reach
        self._is_again = is_again
        self._whole = Reach(whole=f"seed{frontier.clock_ms()}") if is_whole else FULL_REACH

    def ask(self, kind: str, text: str) -> tuple[bool, str]:
        """Admit a target, whose `kind` is board, post or url. Return whether it was accepted, and the outcome in words.

        Raises:
            BackendError: Redis fails.
        """
        try:
            request = self.request_for(kind, text)
        except (ConfigError, FetchError) as error:
            return False, f"refused, {printable(str(error))}"
        admission = self._frontier.admit(self._site.name, [request], self._site.gate.max_backlog, again=self._is_again)
        if admission.over:
            return False, f"refused, {self._site.gate.max_backlog} requests are open (gate.max_backlog)"
        return True, "admitted" if admission.new else "known"

    def ask_again(self, requests: Iterable[Request]) -> tuple[int, int]:
        """Admit known pages again. Return the number of admitted ones, and of refused ones.

        Raises:
            BackendError: Redis fails.
        """
        admitted = refused = 0
        rest = (request._replace(priority=self._rank(Priority.BACKFILL)) for request in requests)
        while chunk := list(islice(rest, AT_ONCE)):
            admission = self._frontier.admit(self._site.name, chunk, self._site.gate.max_backlog, again=True)
            admitted, refused = admitted + admission.new, refused + admission.over
        return admitted, refused

    def ask_read_by(self, version: str, database_url: str) -> tuple[int, int]:
        """Admit the pages again that a version of the site file read. Return the counts of `ask_again`.

        Raises:
            ConfigError: that version read no page.
        """
        site = self._site.name
        with Store(database_url).open(create=False) as store:
            admitted, refused = self.ask_again(queries.read_by(store, site, version))
            if not admitted + refused:
                versions = ", ".join(queries.readers(store, site)) or "none that is known"
                raise ConfigError(f"no page of {site} was read by {version!r}; versions that read pages: {versions}")
        return admitted, refused

    def request_for(self, kind: str, text: str) -> Request:
        """Return the request that a target means.

        Raises:
            ConfigError: the site has no such page.
            FetchError: the address is refused.
        """
        if kind == "board":
            return self._scan(text)
        if kind == "post":
            return self._page(Stage.POST, text, 1)
        place = self._addresses.read(text)
        if place is None:
            raise ConfigError(f"no address of site {self._site.name}; see list, post and comment in its file")
        # A thread is whole from its post on.
        if place.stage is Stage.COMMENT and self._whole.whole:
            return self._page(Stage.POST, place.key, 1)
        return self._page(place.stage, place.key, place.page, normalize(text))

    def _scan(self, board_id: str) -> Request:
        # A board that the file does not name may be seeded as well: its address follows from its id.
        board = next((board for board in self._site.boards if board.id == board_id), None) or Board(id=board_id)
        # A scan name of its own: the guard would know the first page of any earlier scan.
        scan = first_page(self._site, board, self._addresses, f"seed{self._frontier.clock_ms()}")
        return scan._replace(priority=self._rank(Priority.BACKFILL), reach=self._reach)

    def _page(self, stage: Stage, key: str, page: int, address: str | None = None) -> Request:
        where = address or self._addresses.of(stage, key, page)
        if where is None:
            raise SiteError(f"site {self._site.name} gives no address for its {stage.value} pages; seed a URL")
        priority = self._rank(Priority.URGENT)
        return Request(self._site.name, stage, key, where, page=page, priority=priority, reach=self._whole)

    def _rank(self, usual: Priority) -> int:
        return usual.value if self._priority is None else self._priority
