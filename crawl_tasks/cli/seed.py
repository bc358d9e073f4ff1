"""`crawl-tasks seed`: admits boards, posts and addresses that a person names, by the same guard as all requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import TextIO

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.selection_options import SinceOption
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError, FetchError, SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.logs import printable
from crawl_tasks.model import FULL_REACH, Priority, Reach, Request, Stage
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Board
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.sites.start_entry import first_page
from crawl_tasks.store import queries
from crawl_tasks.store.upsert import Store
from crawl_tasks.urls import normalize

AT_ONCE = 500
"""Pages that one call admits at most."""


@click.command(
    epilog=examples(
        "crawl-tasks seed demo --board 3 --pages 2",
        "crawl-tasks seed demo --post 1042 --post 1043",
        "crawl-tasks seed demo --url http://127.0.0.1:8765/comment/1042/2",
        "crawl-tasks seed demo --post 1042 --whole     # again, all its pages",
        "crawl-tasks seed demo - < addresses.txt",
        "crawl-tasks seed demo --read-by 1f6c0a2b       # again, what that version of the site file read",
    )
)
@click.argument("site")
@click.argument("addresses", required=False, type=click.File("r", encoding="utf-8", errors="replace"))
@click.option(
    "--board", "boards", multiple=True, metavar="ID", help="Walk over a board now, from its first page to its last."
)
@click.option("--post", "posts", multiple=True, metavar="ID", help="Fetch a post.")
@click.option("--url", "urls", multiple=True, metavar="URL", help="Fetch an address of the site.")
@click.option(
    "--read-by", multiple=True, metavar="VERSION", help="Fetch again what this version of the site file read."
)
@click.option("--again", is_flag=True, help="Also fetch known posts and addresses, as dont_filter does.")
@click.option("--whole", is_flag=True, help="Read threads from their first page to the last, as a full pass does.")
@click.option("--pages", metavar="N", type=click.IntRange(1, 100_000), help="Read at most N list pages of a board.")
@click.option(
    "--since", type=SinceOption(), help="Read only threads of a board with posts since then, as 7d or 2026-01-31."
)
@click.option(
    "--priority",
    metavar="0-9",
    type=click.IntRange(0, 9),
    help="Priority. The default is 2 for boards and --read-by, else 9.",
)
@click.pass_context
def command(
    ctx: click.Context, site: str, addresses: TextIO | None, *, boards: tuple[str, ...], posts: tuple[str, ...],
    urls: tuple[str, ...], read_by: tuple[str, ...], again: bool, whole: bool, pages: int | None, since: int | None,
    priority: int | None,
) -> None:  # fmt: skip
    """Ask for pages of SITE. ADDRESSES is a file with one address a line, # begins a comment, - is standard input.

    A page is fetched the first time you name it here, even if a scan has fetched it before. After that it is known, and
    you need --again or --whole. A board is always walked again. --read-by fetches again what an older version of the
    site file read, for example after you mended a rule. Requests above the site's max_backlog are refused. The exit
    code is 1 when anything was refused.
    """
    if not (boards or posts or urls or addresses or read_by):
        raise click.UsageError(
            "name what to fetch: --board, --post, --url, --read-by, or a file of addresses (- is standard input)"
        )
    if whole and boards:
        raise click.UsageError("--whole is of threads: name posts or addresses, no --board")
    seed_run = SeedRun(
        open_cells().of(site),
        site,
        priority,
        Reach(pages or 0, since or 0),
        is_again=again or whole,
        is_whole=whole,
    )
    refused = 0
    targets = {"board": boards, "post": posts, "url": chain(urls, wanted_lines(addresses or ()))}
    for kind, texts in targets.items():
        for text in texts:
            is_taken, verdict = seed_run.ask(kind, text)
            refused += not is_taken
            click.echo(f"{verdict}: {kind} {printable(text)}")
    for version in read_by:
        refused += _ask_again(seed_run, site, version)
    if refused:
        click.echo(f"crawl-tasks: {refused} refused", err=True)
        ctx.exit(Exit.FAILURES)


def _ask_again(seed_run: SeedRun, site: str, version: str) -> int:
    """Admit the pages that a version of the site file read, and return the number of refused ones."""
    with closing(Store(load_settings().database_url)) as store:
        store.open(create=False)
        admitted, refused = seed_run.ask_again(queries.read_by(store, site, version))
        if not admitted + refused:
            others = ", ".join(queries.readers(store, site)) or "none that is known"
            raise ConfigError(f"no page of {site} was read by {version!r}; versions that read pages: {others}")
    click.echo(f"admitted: {counted(admitted, 'page')} that {printable(version)} read")
    if refused:
        click.echo(f"refused, gate.max_backlog is reached: {counted(refused, 'page')}; again when the others are read")
    return refused


def wanted_lines(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines with an address: no comments and blanks, and no byte order mark."""
    for line in lines:
        text = line.removeprefix("\ufeff").strip()
        if text and not text.startswith("#"):
            yield text


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
