"""`crawl-tasks seed`: boards, posts and addresses that a person asks for, through the same door as all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from enum import Enum
from itertools import islice
from typing import NamedTuple, TextIO

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.cli.since import Since
from crawl_tasks.errors import ConfigError, FetchError, SiteError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import FULL_REACH, Priority, Reach, Request, Stage
from crawl_tasks.monitor.advice import counted
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.published import read_site
from crawl_tasks.sites.schema import Board
from crawl_tasks.sites.start import first_page
from crawl_tasks.store import known
from crawl_tasks.store.upsert import Store
from crawl_tasks.urls import normalize

AT_ONCE = 500
"""Pages that one call admits."""


class Kind(Enum):
    """What a wish names."""

    BOARD = "board"
    POST = "post"
    URL = "url"


class Wish(NamedTuple):
    """One thing that a person asks to be fetched."""

    kind: Kind
    text: str


@click.command(
    epilog=examples(
        "crawl-tasks seed demo --board 3 --pages 2",
        "crawl-tasks seed demo --post 1042 --post 1043",
        "crawl-tasks seed demo --url http://127.0.0.1:8765/comment/1042/2",
        "crawl-tasks seed demo - < addresses.txt",
        "crawl-tasks seed demo --read-by 1f6c0a2b       # again, what that version of the site file read",
    )
)
@click.argument("site")
@click.argument("addresses", required=False, type=click.File("r", encoding="utf-8", errors="replace"))
@click.option("--board", "boards", multiple=True, metavar="ID", help="Scan a board now, from its first page.")
@click.option("--post", "posts", multiple=True, metavar="ID", help="Fetch a post.")
@click.option("--url", "urls", multiple=True, metavar="URL", help="Fetch an address of the site.")
@click.option("--read-by", metavar="VERSION", help="Fetch again what this version of the site file read.")
@click.option("--pages", metavar="N", type=click.IntRange(1, 100_000), help="At most so many list pages of a board.")
@click.option("--since", type=Since(), help="Of a board only threads that were alive since, 7d or 2026-01-31.")
@click.option("--priority", metavar="0-9", type=click.IntRange(0, 9), default=Priority.URGENT.value, show_default=True)
@click.pass_context
def command(
    ctx: click.Context,
    site: str,
    addresses: TextIO | None,
    *,
    boards: tuple[str, ...],
    posts: tuple[str, ...],
    urls: tuple[str, ...],
    read_by: str | None,
    pages: int | None,
    since: int | None,
    priority: int,
) -> None:
    """Ask for pages of SITE; ADDRESSES is a file of them, one a line, # begins a comment, - is standard input.

    A post or comment page is fetched the first time it is asked for here, though a scan may have fetched it before;
    after that it is known. Boards are scanned anew. With --read-by pages are fetched although they are known: after a
    site file was mended, those that the version before read wrongly. Nothing is admitted above the site's max_backlog.
    Exit code 1 when anything was refused.
    """
    if not (boards or posts or urls or addresses or read_by):
        raise click.UsageError(
            "name what to fetch: --board, --post, --url, --read-by, or a file of addresses (- is standard input)"
        )
    seeder = Seeder(open_frontier(), site, priority, Reach(pages or 0, since or 0))
    refused = 0
    for wish in _wishes(boards, posts, urls, addresses or ()):
        is_taken, verdict = seeder.ask(wish)
        refused += not is_taken
        click.echo(f"{verdict}: {wish.kind.value} {printable(wish.text)}")
    if read_by:
        refused += _ask_again(seeder, site, read_by)
    if refused:
        click.echo(f"crawl-tasks: {refused} refused", err=True)
        ctx.exit(Exit.FAILURES)


def _ask_again(seeder: Seeder, site: str, version: str) -> int:
    """Ask for what a version of the site file read; return how many pages were refused."""
    with closing(Store(load_settings().database_url)) as store:
        store.open(create=False)
        admitted, refused = seeder.ask_again(known.read_by(store, site, version))
        if not admitted + refused:
            others = ", ".join(known.readers(store, site)) or "none that is known"
            raise ConfigError(f"no page of {site} was read by {version!r}; versions that read pages: {others}")
    click.echo(f"admitted: {counted(admitted, 'page')} that {printable(version)} read")
    if refused:
        click.echo(f"refused, gate.max_backlog is reached: {counted(refused, 'page')}; again when the others are read")
    return refused


def _wishes(boards: Iterable[str], posts: Iterable[str], urls: Iterable[str], lines: Iterable[str]) -> Iterator[Wish]:
    for kind, texts in ((Kind.BOARD, boards), (Kind.POST, posts), (Kind.URL, urls), (Kind.URL, wanted_lines(lines))):
        for text in texts:
            yield Wish(kind, text)


def wanted_lines(lines: Iterable[str]) -> Iterator[str]:
    """Give the lines that say something: without byte order mark, comments and blanks."""
    for line in lines:
        text = line.removeprefix("\ufeff").strip()
        if text and not text.startswith("#"):
            yield text


class Seeder:
    """Asks for the admission of one request at a time and says what became of it."""

    def __init__(self, frontier: Frontier, name: str, priority: int, reach: Reach = FULL_REACH) -> None:
        text = frontier.sites.published(name)
        if text is None:
            raise ConfigError(f"site {name!r} is not published; run: crawl-tasks sites check {name}")
        self._frontier = frontier
        self._site = read_site(text)
        self._addresses = Addresses(self._site)
        self._priority = priority
        self._reach = reach

    def ask(self, wish: Wish) -> tuple[bool, str]:
        """Ask for admission; say whether the wish was taken, and in words what happened.

        Raises:
            BackendError: Redis does not do its part.
        """
        try:
            request = self.request_for(wish)
        except (ConfigError, FetchError) as error:
            return False, f"refused, {printable(str(error))}"
        admission = self._frontier.admit(self._site.name, [request], self._site.gate.max_backlog)
        if admission.over:
            return False, f"refused, {self._site.gate.max_backlog} requests are open (gate.max_backlog)"
        return True, "admitted" if admission.new else "known"

    def ask_again(self, requests: Iterable[Request]) -> tuple[int, int]:
        """Ask for pages whatever the guard says; return how many were admitted, and how many refused.

        Raises:
            BackendError: Redis does not do its part.
        """
        admitted = refused = 0
        rest = (request._replace(priority=self._priority) for request in requests)
        while chunk := list(islice(rest, AT_ONCE)):
            admission = self._frontier.admit(self._site.name, chunk, self._site.gate.max_backlog, again=True)
            admitted, refused = admitted + admission.new, refused + admission.over
        return admitted, refused

    def request_for(self, wish: Wish) -> Request:
        """Make the request that a wish means.

        Raises:
            ConfigError: the site has no such page.
            FetchError: the address is none that we go to.
        """
        if wish.kind is Kind.BOARD:
            return self._scan(wish.text)
        if wish.kind is Kind.POST:
            return self._page(Stage.POST, wish.text, 1)
        target = self._addresses.read(wish.text)
        if target is None:
            raise ConfigError(f"no address of site {self._site.name}; see list, post and comment in its file")
        return self._page(target.stage, target.key, target.page, normalize(wish.text))

    def _scan(self, board_id: str) -> Request:
        board = next((board for board in self._site.boards if board.id == board_id), None) or Board(id=board_id)
        scan = first_page(self._site, board, self._addresses, f"seed{self._frontier.clock_ms()}")
        return scan._replace(priority=self._priority, reach=self._reach)

    def _page(self, stage: Stage, key: str, page: int, address: str | None = None) -> Request:
        where = address or self._addresses.of(stage, key, page)
        if where is None:
            raise SiteError(f"site {self._site.name} gives no address for its {stage.value} pages; seed a URL")
        return Request(self._site.name, stage, key, where, page=page, priority=self._priority)
