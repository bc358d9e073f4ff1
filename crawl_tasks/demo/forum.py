"""The demo forum: a path in, a page out, rendered once per generation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

from crawl_tasks.demo import render
from crawl_tasks.demo.content import ForumContent, Thread
from crawl_tasks.demo.generator import create
from crawl_tasks.demo.mutation import Mutation, advance
from crawl_tasks.demo.page_chrome import PageChrome
from crawl_tasks.demo.sizes import DEMO, Size
from crawl_tasks.demo.truth import Truth, list_pages, truth_of

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
_PATH = re.compile(r"/(?:(list|comment)/([0-9]{1,18})/([0-9]{1,9})|post/([0-9]{1,18}))")


@dataclass(frozen=True, slots=True)
class Answer:
    """A response without the connection's headers. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class _Generation:
    """One generation with its rendered pages, replaced as a whole, so that no page outlives its generation."""

    world: ForumContent
    listings: dict[str, list[Thread]]
    wires: dict[str, bytes] = field(default_factory=dict)


class DemoForum:
    """A forum from a seed. Rendering is thread-safe. `mutate` is for one thread at a time."""

    def __init__(
        self, seed: int = 1, size: Size = DEMO, *, generation: int = 1, crawl_delay_s: float | None = None
    ) -> None:
        self._chrome = PageChrome(heavy=size.heavy)
        self._crawl_delay_s = crawl_delay_s
        self._edition = _edition(create(seed, size))
        while self._edition.world.generation < generation:
            self.mutate()

    @property
    def generation(self) -> int:
        """The number of this generation, from 1."""
        return self._edition.world.generation

    @property
    def seed(self) -> int:
        """The seed of all content."""
        return self._edition.world.seed

    @property
    def date(self) -> str:
        """The value of every Date header: the forum's present."""
        return formatdate(self.now, usegmt=True)

    @property
    def now(self) -> int:
        """The forum's present, in seconds since the epoch. The clock stands still within a generation."""
        return self._edition.world.now

    def mutate(self) -> Mutation:
        """Become the next generation.

        Raises:
            ValueError: After many generations no thread is left that could grow as promised.
        """
        world, news = advance(self._edition.world)
        self._edition = _edition(world)
        return news

    def truth(self) -> Truth:
        """Return the result of a perfect crawl of this generation."""
        return truth_of(self._edition.world)

    def render(self, path: str) -> Answer:
        """Return the answer to a GET of a path. A query is ignored."""
        return self._render(self._edition, path)

    def wire(self, path: str) -> bytes:
        """Return the answer as bytes for a kept connection, Date and Content-Length included. Pages are cached."""
        edition = self._edition
        wire = edition.wires.get(path)
        if wire is None:
            answer = self._render(edition, path)
            wire = self.pack(answer)
            # Missing pages and queries are without number: caching those would let a client fill the memory.
            if answer.status == 200 and "?" not in path:
                edition.wires[path] = wire
        return wire

    def pack(self, answer: Answer) -> bytes:
        """Return any answer as bytes, as `wire` does."""
        return head(answer.status, {**answer.headers, "date": self.date}, len(answer.body)) + answer.body

    def prerender(self) -> int:
        """Render all pages now. Return their size in bytes. For measurements."""
        return sum(len(self.wire(path)) for path in self.truth().paths)

    def _render(self, edition: _Generation, path: str) -> Answer:
        path = path.partition("?")[0]
        match = _PATH.fullmatch(path)
        if match is None:
            return self._other(edition, path)
        kind, board_or_post, page, post = match.groups()
        if kind == "list":
            return self._list(edition, board_or_post, int(page))
        thread = edition.world.threads.get(post or board_or_post)
        if thread is None:
            return _absent(404)
        return self._thread(edition, thread, int(page) if page else None)

    def _thread(self, edition: _Generation, thread: Thread, page: int | None) -> Answer:
        """Return the answer for one of a thread's comment pages, or for the post's page if `page` is None."""
        if thread.gone:
            return _absent(thread.gone)
        if page is None:
            return _html(render.post_page(edition.world, self._chrome, thread))
        if page == 1:
            return Answer(301, {"content-type": HTML, "location": f"/post/{thread.post_id}"}, b"")
        if not 2 <= page <= thread.pages:
            return _absent(404)
        return _html(render.comment_page(edition.world, self._chrome, thread, page))

    def _list(self, edition: _Generation, board_id: str, page: int) -> Answer:
        world = edition.world
        rows = edition.listings.get(board_id, [])
        count = list_pages(world, len(rows))
        if board_id not in world.boards or not 1 <= page <= count:
            return _absent(404)
        step = world.size.rows_per_page
        part = rows[(page - 1) * step : page * step]
        board = world.boards[board_id]
        return _html(render.list_page(world, self._chrome, board, part, page=page, pages=count))

    def _other(self, edition: _Generation, path: str) -> Answer:
        if path == "/":
            return _html(render.index_page(edition.world, self._chrome))
        if path == "/robots.txt":
            return Answer(200, {"content-type": TEXT}, self._robots().encode())
        if path.startswith("/private/"):
            return Answer(200, {"content-type": HTML}, b"<title>private</title>robots.txt asks you to stay out\n")
        return _absent(404)

    def _robots(self) -> str:
        delay = "" if self._crawl_delay_s is None else f"Crawl-delay: {self._crawl_delay_s:g}\n"
        return f"User-agent: *\nAllow: /list\nAllow: /post\nAllow: /comment\nDisallow: /private\n{delay}"


def head(status: int, headers: Mapping[str, str], length: int) -> bytes:
    """Return the head of an HTTP/1.1 response with a Content-Length."""
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {int(status)} {HTTPStatus(status).phrase}\r\n{lines}Content-Length: {length}\r\n\r\n".encode()


def _edition(world: ForumContent) -> _Generation:
    return _Generation(world, {board: world.listing(board) for board in world.boards})


def _html(text: str) -> Answer:
    return Answer(200, {"content-type": HTML}, text.encode())


def _absent(status: int) -> Answer:
    return Answer(status, {"content-type": HTML}, f"<title>{status}</title>there is no such page\n".encode())
