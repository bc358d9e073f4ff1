"""A forum changes in any way between scans, full passes and single requests: in the end the rows are the forum's."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.store.upsert import Store
from tests.frontier.small_crawl import RULES, SmallCrawl, small_forum

BOARDS = ("1", "2")
PAGE_ROWS = 3
MOST_GONE = 4
"""Threads that are deleted at a time. Of more in a row the crawler waits to hear that the forum is not away."""
SITE = "boards: [1, 2]\ninterval: {full_pass_s: 86400}\n"
BEGAN_S = time.time() - 6 * 3600
KINDS = ("begin", "reply", "reply", "cut", "cut", "edit", "move", "delete", "restore")
Change = tuple[str, str, int, int]


class Thread:
    """A thread of a board: its replies as (id, words), and the minute of the last one."""

    def __init__(self, board: str, minute: int) -> None:
        self.board, self.minute = board, minute
        self.replies: list[tuple[str, str]] = []


class Threads:
    """The threads of a small forum, changed by kind, and written as pages after each change."""

    def __init__(self, crawl: SmallCrawl, *, is_ordered: bool, has_etags: bool) -> None:
        self._crawl, self._is_ordered, self._has_etags = crawl, is_ordered, has_etags
        self._steps = 0
        self.threads: dict[str, Thread] = {}
        self.gone: dict[str, Thread] = {}

    def change(self, changes: list[Change]) -> None:
        for kind, board, at, much in changes:
            self._steps += 1
            own = sorted(number for number, thread in self.threads.items() if thread.board == board)
            self._change("begin" if not own else kind, board, own[at % len(own)] if own else "", much)
        self._write()

    def _change(self, kind: str, board: str, number: str, much: int) -> None:
        thread = self.threads.get(number)
        if thread is None or kind == "begin":
            for _ in range(1 + much % 4):
                self.threads[str(100 + len(self.threads) + len(self.gone))] = Thread(board, self._steps)
        elif kind == "reply":
            for one in range(1 + much % 4):
                thread.replies.append((f"c{number}x{self._steps}x{one}", f"words {self._steps}"))
            thread.minute = self._steps
        elif kind == "cut":
            for _ in range(min(len(thread.replies), 1 + much % 3)):
                thread.replies.pop(much % len(thread.replies))
        elif kind == "edit" and thread.replies:
            place = much % len(thread.replies)
            thread.replies[place] = (thread.replies[place][0], f"other words {self._steps}")
        elif kind == "move":
            thread.board = "2" if board == "1" else "1"
        elif kind == "delete" and len(self.gone) < MOST_GONE:
            self.gone[number] = self.threads.pop(number)
        elif kind == "restore" and self.gone:
            back = sorted(self.gone)[much % len(self.gone)]
            self.threads[back] = self.gone.pop(back)

    def _write(self) -> None:
        served = self._crawl.forum
        served.pages.clear()
        for number, thread in self.threads.items():
            served.whole_thread(number, [f"{key} {words}" for key, words in thread.replies], rows=PAGE_ROWS)
        for board in BOARDS:
            own = [number for number, thread in self.threads.items() if thread.board == board]
            own.sort(key=lambda number: -self.threads[number].minute if self._is_ordered else -int(number))
            served.whole_board(board, [*map(self._row, own)], rows=PAGE_ROWS)
        served.etags = {path: f'"{hash(page)}"' for path, page in served.pages.items()} if self._has_etags else {}

    def _row(self, number: str) -> str:
        thread = self.threads[number]
        at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(BEGAN_S + 60 * thread.minute))
        return f"{number} {len(thread.replies)} {at}"


class Crawl:
    """The crawl of such a forum into a database."""

    def __init__(self, crawl: SmallCrawl, forum: Threads, store: Store, path: Path) -> None:
        self._crawl, self._forum, self._store, self._path = crawl, forum, store, path
        self.ever_gone: set[str] = set()

    def step(self, step: str | list[Change] | tuple[str, int, list[Change]]) -> None:
        """Change the forum, or scan it or make a full pass, or do so while it changes after a request."""
        if isinstance(step, list):
            self._forum.change(step)
        elif isinstance(step, str):
            self._run(step)
        else:
            what, place, changes = step
            served = self._crawl.forum
            further = [path for path in served.pages if path.startswith("/comment/")]
            path = (further or list(served.pages))[place % len(further or served.pages)]

            def later() -> None:
                self._forum.change(changes)
                served.etags.pop(path, None)  # its page was made before

            served.then[path] = later
            self._run(what)
            served.then.clear()
        self.ever_gone |= self._forum.gone.keys()
        assert self._marked() <= self.ever_gone

    def _run(self, what: str) -> None:
        for _ in range(2 if what == "scan" else 1):  # a thread that slid meanwhile is missed by one scan at most
            self._crawl.scan() if what == "scan" else self._crawl.full_pass()
        self._crawl.store_into(self._store)

    def _marked(self) -> set[str]:
        """Return the threads that count as deleted, in whole or by a reply, although the forum has them."""
        live = {
            key for thread in self._forum.threads.values() for key, _ in thread.replies
        } | self._forum.threads.keys()
        posts = self._rows("select post_id, post_id from posts where state = 'deleted'")
        return {of for key, of in posts + self._rows("select comment_id, post_id from comments where state = 'deleted'")
                if key in live}  # fmt: skip

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            return connection.execute(query).fetchall()

    def stored(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Return board and state of each post, and words of each comment that is there of a post that is there."""
        posts = {key: row for key, *row in self._rows("select post_id, forum_id, coalesce(state, 'normal') from posts")}
        query = "select comment_id, body, post_id from comments where coalesce(state, 'normal') = 'normal'"
        comments = {key: body for key, body, of in self._rows(query) if posts[of][1] == "normal"}
        return {key: tuple(row) for key, row in posts.items()}, comments  # type: ignore[return-value]


CHANGES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(BOARDS), st.integers(0, 12), st.integers(0, 12)),
    min_size=1, max_size=5,
)  # fmt: skip
RUNS = st.sampled_from(("scan", "pass"))
MEANWHILE = st.tuples(RUNS, st.integers(0, 20), CHANGES)
STEPS = st.lists(st.one_of(CHANGES, CHANGES, RUNS, MEANWHILE), min_size=2, max_size=8)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=STEPS, is_ordered=st.booleans(), has_etags=st.booleans(), guard=st.sampled_from(("exact", "rolling", "bloom"))
)
def test_after_full_passes_at_rest_the_rows_are_those_of_the_forum(
    client: redis.Redis, steps: list[str | list[Change]], is_ordered: bool, has_etags: bool, guard: str
) -> None:
    client.flushall()  # the server is the run's own
    with TemporaryDirectory() as folder, small_forum() as served, Store(f"sqlite:///{folder}/crawl.db") as store:
        small = SmallCrawl(client, Frontier(client, "test"), served)
        forum = Threads(small, is_ordered=is_ordered, has_etags=has_etags)
        forum.change([("begin", board, 0, 3) for board in BOARDS])
        forum.change([("reply", board, thread, 3) for board in BOARDS for thread in range(4) for _ in range(thread)])
        small.publish(SITE, f"{RULES}guard: {guard}\n")
        crawl = Crawl(small, forum, store, Path(folder) / "crawl.db")
        for step in ["scan", *steps, *("scan", "pass") * 3]:
            crawl.step(step)
        posts, comments = crawl.stored()

    assert comments == {key: words for thread in forum.threads.values() for key, words in thread.replies}
    assert {key: post for key, post in posts.items() if key not in forum.gone} == {
        number: (thread.board, "normal") for number, thread in forum.threads.items()
    }
    assert {post[1] for key, post in posts.items() if key in forum.gone} <= {"deleted"}
