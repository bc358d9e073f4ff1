"""The tiny crawl of a forum that changes, one step after so many pages: in the end it is stored as it stands.

A mixin for the tiny crawls: the board is due again whenever nothing is open, until the forum has changed for the last
time. Then come one more scan and one full pass, and that again after whatever an operator had to mend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import create_engine, text

from crawl_tasks.errors import CrawlError
from crawl_tasks.frontier.inspect.inspector import Inspector
from tests.chaos.tiny import OnceBroken, Rows, TinyCrawl
from tests.frontier.small_crawl import SmallForum, small_forum

BOARD, LINE = "crawl:s:demo:board:1", "demo 1"
NEW = "17"
PAGE = 2
EVERY = 2
"""Pages that are asked for between two steps of the forum."""

STANDING = {
    "posts": "SELECT post_id, title, body FROM posts WHERE coalesce(state, 'normal') = 'normal'",
    "comments": "SELECT c.post_id, c.comment_id, c.author, c.body FROM comments c JOIN posts p"
    " ON p.post_id = c.post_id AND coalesce(p.state, 'normal') = 'normal' WHERE c.state = 'normal'",
}


@dataclass
class TinyWorld:
    """Threads by id, each with its comments as `id text`, and what is gone of them or off the list."""

    threads: dict[str, list[str]]
    bodies: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    unlisted: set[str] = field(default_factory=set)

    def show(self, forum: SmallForum) -> None:
        """Write all pages as they are now."""
        forum.pages.clear()
        forum.board(
            "1", 1, *(f"{name} {len(said)}" for name, said in self.threads.items() if name not in self.unlisted)
        )
        for name, said in self.threads.items():
            if name in self.gone:
                continue
            pages = max(1, -(-len(said) // PAGE))
            more = f"<a class=pages href=/comment/{name}/{pages}>{pages}</a>" if pages > 1 else ""
            for page in range(pages, 0, -1):  # each is written as the thread's own page first
                forum.thread(
                    name, *said[(page - 1) * PAGE : page * PAGE], body=self.bodies.get(name, "hello"), more=more
                )
                if page > 1:
                    forum.pages[f"/comment/{name}/{page}"] = forum.pages.pop(f"/post/{name}")

    def paths(self) -> set[str]:
        """Name the pages that a full pass asks for."""
        standing = {name: said for name, said in self.threads.items() if name not in self.gone}
        further = {
            f"/comment/{name}/{n}" for name, said in standing.items() for n in range(2, -(-len(said) // PAGE) + 1)
        }
        return {"/list/1/1", *(f"/post/{name}" for name in standing), *further}


def beginning() -> TinyWorld:
    """Return the forum before its first change."""
    return TinyWorld({"11": ["1 one"], "12": ["2 two", "3 three", "4 four"], "13": []})


STEPS: tuple[Callable[[TinyWorld], object], ...] = (
    lambda world: world.threads["11"].append("5 five"),
    lambda world: world.threads["12"].remove("2 two"),
    lambda world: world.gone.add("13"),
    lambda world: world.threads["11"].remove("5 five"),
    lambda world: world.threads["11"].append("6 six"),  # the count is what it was before
    lambda world: world.gone.discard("13"),
    lambda world: world.threads.update({NEW: ["7 seven"]}),
    lambda world: world.bodies.update({"12": "edited"}),
    lambda world: world.threads["12"].insert(0, "2 two"),
    lambda world: (world.gone.add(NEW), world.unlisted.add(NEW)),
)


class Changing(TinyCrawl):
    """Lets the forum change while it is crawled. `_since` is the number of pages asked for when it came to rest."""

    further: tuple[str, ...] = ()  # threads without comments

    def begin(self) -> None:
        """Begin with the forum as it was first."""
        self.changing, self._steps, self._since = beginning(), list(STEPS), -1
        self.changing.threads |= {name: [] for name in self.further}
        self.changing.show(self._forum)
        super().begin()

    def turn(self) -> None:
        """Let the forum act too, and be looked at again."""
        asked = len(self._forum.asked)
        if self._steps and asked >= EVERY * (len(STEPS) - len(self._steps) + 2):
            self._steps.pop(0)(self.changing)
            self.changing.show(self._forum)
        if self._is_still():
            if not self._steps and self._since < 0:
                self._since = asked  # the scan that follows, and the full pass, see the forum at rest
            if self._steps or "/list/1/1" not in self._forum.asked[self._since :]:
                self._aside.zadd("crawl:boards", {LINE: 0}, xx=True)
            elif self._missing() and self._aside.hexists(BOARD, "full_due"):
                self._aside.hset(BOARD, "full_due", 0)
        if self._since >= 0:
            self._aside.zadd("crawl:fulls", {LINE: 0}, xx=True)
        super().turn()

    def is_over(self) -> bool:
        """Return whether the forum rests and a full pass has been all over it."""
        return self._since >= 0 and not self._missing() and super().is_over()

    def begin_again(self) -> None:
        """Look at everything once more, as after a loss."""
        self._since = -1

    def _missing(self) -> set[str]:
        """Name the pages that were not asked for since the scan at rest."""
        asked = self._forum.asked[self._since :]
        scanned = asked.index("/list/1/1") + 1 if "/list/1/1" in asked else len(asked)
        return self.changing.paths() - set(asked[scanned:])

    def _is_still(self) -> bool:
        """Return whether no page is open; what was read may still wait for the store."""
        try:
            counts = Inspector(self._judge).count_requests("demo")
        except CrawlError:  # the ledger is lost
            return False
        return counts.open == 0 and counts.parked == 0


@contextmanager
def changing_forum() -> Iterator[SmallForum]:
    """Serve a forum that a crawl changes; a page of it is broken the first time."""
    with small_forum() as forum:
        forum.pages = OnceBroken()
        yield forum


def standing(url: str) -> Rows:
    """Read what is stored as standing."""
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = {table: sorted(map(tuple, connection.execute(text(query)))) for table, query in STANDING.items()}
    engine.dispose()
    return rows


def true_rows(world: TinyWorld) -> Rows:
    """Say what stands."""
    here = {name: said for name, said in world.threads.items() if name not in world.gone}
    posts = [(name, f"post {name}", world.bodies.get(name, "hello")) for name in here]
    return {
        "posts": sorted(posts),
        "comments": sorted(
            (name, one.split()[0], "ann", one.split()[1]) for name, said in here.items() for one in said
        ),
    }


def told(stored: Rows, true: Rows) -> str:
    """Say what is stored and does not stand, or the other way round."""
    return "; ".join(
        f"{what} {row}"
        for table in true
        for what, rows in (
            ("stored as standing:", set(stored[table]) - set(true[table])),
            ("not stored as it stands:", set(true[table]) - set(stored[table])),
        )
        for row in sorted(rows)
    )
