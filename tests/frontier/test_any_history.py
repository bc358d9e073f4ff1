"""Whatever happens to a crawl between scans, its rows are those of the forum once the forum rests.

The forum's changes are those that scans find (docs/changes.md). Between them operators and failures do what they do:
recoveries, restores of either side, removals that are cut off, moves, pauses, flushes, boards that leave. Workers
die, and send twice. HISTORIES=20000 runs as many.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from crawl_tasks.errors import ConfigError
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.board_schedule import Act
from crawl_tasks.frontier.admin.transfer import SiteTransfer
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.outbox import Batch, read_items
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Lease, Operator, Stage
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.database_guard import DatabaseGuard
from crawl_tasks.worker.ledger_watch import LedgerWatch, prepare_rebuild
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import NOTHING, end_delays
from tests.frontier.small_crawl import RULES, SmallCrawl, SmallForum, small_forum

HISTORIES = int(os.environ.get("HISTORIES", "40"))
STEPS = 12
PAGE_ROWS, LIST_ROWS = 2, 3
MOST_GONE = 2
"""Threads that answer 404 at a time. Of more in a row the crawler waits to hear that the forum is not away."""
GUARDS = (
    "exact",
    "rolling",
    "{list: 'off', post: database, comment: database}",
    "{list: 'off', post: 'off', comment: 'off'}",
)
KINDS = ("begin", "reply", "reply", "cut", "move", "vanish", "return")
CHANGES = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 9)),
    min_size=1, max_size=3, unique_by=lambda one: one[1],
)  # fmt: skip
ANN = Operator("ann@host", "why")
MOST_SCANS = 16
"""A thread that is back is asked for after 1, 3, 7 listings, and again where it lacks replies."""
THREADS = st.integers(0, 9)
LEFT_OVER = ("underway", ":restored", ":carried", ":frozen", ":staged:", ":pending")


class Killed(BaseException):
    """The end of a command by kill -9."""


class Thread:
    """A thread on one or both boards. A thread that is gone is listed with another count, and its page answers 404."""

    def __init__(self, number: int, boards: str) -> None:
        self.number, self.boards, self.is_gone, self.last = number, boards, False, number
        self.replies: list[str] = []
        self.ghosts = 0

    @property
    def body(self) -> str:
        """The words of the post, which are others whenever the count of the replies is."""
        return f"before {self.replies[-1]}" if self.replies else "alone"


class Threads:
    """The threads of two boards of a small forum, in the order of the last change, written as pages after each."""

    def __init__(self, served: SmallForum, *, ends_with_404: bool) -> None:
        self._served, self._ends_with_404 = served, ends_with_404
        self.threads: list[Thread] = []
        self.cut = set[str]()
        self._moment = 100

    def change(self, kind: str, at: int, much: int) -> None:
        self._moment += 1
        thread = self.threads[at % len(self.threads)] if self.threads else None
        if thread is None or kind == "begin":
            self.threads.append(Thread(10 + len(self.threads), ("1", "2", "12")[much % 3]))
            return
        thread.last = self._moment
        if kind == "reply" and not thread.is_gone:
            thread.replies += [f"r{self._moment}x{one}" for one in range(1 + much % 4)]
        elif kind == "cut" and not thread.is_gone:
            self.cut |= set(thread.replies[-(1 + much % 4) :])
            del thread.replies[-(1 + much % 4) :]
        elif kind == "move":
            thread.boards = {"1": "2", "2": "1", "12": "12"}[thread.boards]
        elif kind == "vanish" and not thread.is_gone and sum(one.is_gone for one in self.threads) < MOST_GONE:
            thread.is_gone, thread.ghosts = True, thread.ghosts + 1
        elif kind == "return":
            thread.is_gone = False

    def write(self) -> None:
        pages = self._served.pages
        pages.clear()
        for thread in self.threads:
            if not thread.is_gone:
                self._write_thread(thread)
        for board in "12":
            own = sorted((one for one in self.threads if board in one.boards), key=lambda one: -one.last)
            rows = [f"{one.number} {len(one.replies) + 100 * one.ghosts}" for one in own]
            self._served.whole_board(board, rows, rows=LIST_ROWS)

    def _write_thread(self, thread: Thread) -> None:
        pages, name = self._served.pages, str(thread.number)
        comments = [f"{reply} words of {reply}" for reply in thread.replies]
        last = self._served.whole_thread(name, comments, rows=PAGE_ROWS, body=thread.body)
        for beyond in range(last + 1, 1 if self._ends_with_404 else last + 12):
            pages[f"/comment/{name}/{beyond}"] = pages.get(f"/comment/{name}/{last}", pages[f"/post/{name}"])


class AnyHistory(RuleBasedStateMachine):
    """A crawl of such a forum, with its operators, its failures and its workers."""

    url: str
    guard: str
    begun = 0

    @initialize(ends_with_404=st.booleans(), counts=st.lists(THREADS, min_size=2, max_size=6))
    def begin(self, *, ends_with_404: bool, counts: list[int]) -> None:
        AnyHistory.begun += 1
        self._gate, self._erased = "run", set[str]()
        self._asleep: list[tuple[Frontier, Batch]] = []
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(TemporaryDirectory()))
        self._served = self._stack.enter_context(small_forum())
        self._boards, self._unwatched = "1, 2", set[str]()
        self._cells = [self._cell(number, cell) for number, cell in ((1, "a"), (2, "b"))]
        self._at = 0
        self._store = Store(self._database).open()
        self._forum = Threads(self._served, ends_with_404=ends_with_404)
        for count in counts:
            self._forum.change("begin", 0, count)
            self._forum.change("reply", len(self._forum.threads) - 1, count)
        self._forum.write()
        self._publish()
        self._scan()

    # -- what it is made of ------------------------------------------------------------

    @property
    def _database(self) -> str:
        return f"sqlite:///{self._folder}/crawl.db"

    @property
    def _crawl(self) -> SmallCrawl:
        return self._cells[self._at]

    @property
    def _frontier(self) -> Frontier:
        return self._crawl.frontier

    def _cell(self, number: int, cell: str) -> SmallCrawl:
        client = self._stack.enter_context(redis.Redis.from_url(f"{self.url.rsplit('/', 1)[0]}/{number}"))
        client.flushdb()
        frontier = Frontier(client, "test", cell=cell)
        crawl = SmallCrawl(client, frontier, self._served)
        guard = DatabaseGuard(lambda: self._store)
        crawl.pages = PageTask(
            frontier, SiteRegistry(frontier, None), Fetcher(build_client("requests")), mark_stored=guard.mark
        )
        return crawl

    def _site(self) -> Site:
        text = f"{RULES}guard: {self.guard}\nboards: [{self._boards}]\n"
        return parse_site(text, "demo.yaml").relocated(self._served.url)

    def _publish(self) -> None:
        self._unwatched -= {"withdraw"}
        publish_site(self._frontier, self._site(), None, "host:files")

    def _scan(self) -> None:
        self._crawl.scan()
        with suppress(KeyError):
            self._crawl.store_into(self._store)

    def _store_once(self) -> None:
        """Run a store worker once, as a tick does where nothing but decisions waits."""
        OutboxConsumer(self._frontier, lambda: self._store, batch=100, worth=1).run()

    def _write(self, frontier: Frontier, batch: Batch) -> None:
        items = [read_items(text) for _, text in batch.pages]
        written = self._store.write(items, frontier.ledger, batch.acked)
        frontier.outbox.ack({"demo": [page for page, _ in batch.pages]}, change_id=written.change_id)

    def _recover(self) -> None:
        """Do as an operator whom `check` has told, beside store workers that look after both cells."""
        cells = Cells([one.frontier for one in self._cells])
        with suppress(ConfigError):  # nothing was stored since the site was published anew
            for frontier in cells:
                prepare_rebuild(frontier, self._store, None, cells).run_if_lost(lambda _: None)
        self._look()
        [self._at] = (at for at, one in enumerate(self._cells) if one.frontier is cells.of("demo"))
        if not self._frontier.sites.is_published("demo"):
            self._publish()
        self._crawl.work()

    def _look(self) -> None:
        """Look as the store workers of both cells do: they hand Redis the decisions that it has forgotten."""
        cells = Cells([one.frontier for one in self._cells])
        for frontier in cells:
            LedgerWatch(frontier, lambda: self._store, contact=None, by_itself=False, cells=cells).look()

    def _command(self, step: int, command: Callable[[], object]) -> None:
        """Run a command that is killed in front of its n-th call."""
        calls, call = 0, Scripts.call

        def counted(scripts: Scripts, verb: Verb, *args: str | bytes | int) -> list[object]:
            nonlocal calls
            calls += 1
            if calls > step:
                raise Killed
            return call(scripts, verb, *args)

        Scripts.call = counted  # type: ignore[method-assign]
        try:
            with suppress(Killed):
                command()
        finally:
            Scripts.call = call  # type: ignore[method-assign]

    # -- the forum ------------------------------------------------------------

    @rule(changes=CHANGES, scans=st.integers(1, 2))
    def change(self, changes: list[tuple[str, int, int]], scans: int) -> None:
        self._change(changes)
        for _ in range(scans):
            self._scan()

    def _change(self, changes: list[tuple[str, int, int]]) -> None:
        # What falls and rises between two scans is found by full passes only.
        seen = dict[int, tuple[str, int]]()
        for kind, at, much in changes:
            is_unseen = kind == "cut" and not self._is_watched()
            seen.setdefault(at % len(self._forum.threads), ("reply" if is_unseen else kind, much))
        for at, (kind, much) in seen.items():
            self._forum.change(kind, at, much)
        self._forum.write()

    def _is_watched(self) -> bool:
        """Return whether scans look at both boards."""
        return not self._unwatched and self._boards == "1, 2"

    # -- operators ------------------------------------------------------------

    @rule(what=st.sampled_from(("pause", "resume", "drain", "hold", "go", "fix", "free", "withdraw")))
    def decide(self, what: str) -> None:
        self._gate = {"pause": "pause", "drain": "drain", "resume": "run"}.get(what, self._gate)
        undone = {"resume": {"pause", "drain"}, "pause": {"drain"}, "drain": {"pause"}, "go": {"hold"}}
        self._unwatched -= undone.get(what, set())
        self._unwatched |= {what} & {"pause", "drain", "hold", "withdraw"}
        if what in ("hold", "go", "fix", "free"):
            Admin(self._frontier).board_schedule.change("demo", ["1", "2"], Act(what), 60_000, ANN)
        elif what == "withdraw":
            self._frontier.sites.withdraw("demo", "host:files", ANN)
        else:
            getattr(self._frontier.sites, what)("demo", ANN)
        self._store_once()
        self._scan()

    @rule(boards=st.sampled_from(("1", "2", "1, 2")), changes=CHANGES)
    def take_boards_out_or_in(self, boards: str, changes: list[tuple[str, int, int]]) -> None:
        """Take a board out, or back in, while its list is read. What is open ends, and nothing begins."""
        for kind, at, much in changes:
            if kind in ("begin", "reply"):
                self._forum.change(kind, at, much)
        self._forum.write()
        self._crawl.make_due()
        self._frontier.produce()
        self._boards = boards
        self._publish()
        asked = self._crawl.work()
        for board in {"1", "2"} - set(boards.split(", ")):
            open_pages = int(self._crawl.client.hget(f"test:s:demo:board:{board}", "open") or 0)
            assert sum(path.startswith(f"/list/{board}/") for path in asked) + open_pages <= 1
        self._scan()

    @rule(step=st.integers(1, 9), erases=st.booleans(), late=st.sampled_from(("", "stored", "rejected")))
    def remove(self, step: int, late: str, *, erases: bool) -> None:
        """Remove the site, cut off anywhere, and publish it again by its name. Its last pages may be late."""
        admin = Admin(self._frontier)
        if late:
            self._forum.change("reply", step, 1)
            self._forum.write()
            self._crawl.scan()
        if erases:
            if late and self._is_watched():
                self._forum.change("cut", step, 1)
                self._forum.write()
            self._erased |= self._forum.cut

        def whole() -> None:
            token = self._frontier.sites.remove("demo", ANN, erases=erases)
            admin.restore.wipe("demo", token)
            if erases:
                [end] = (one.at_ms for one in admin.decisions.of(["demo"]) if one.is_removal)
                admin.restore.end_removal("demo", token, self._store.erase("demo", end))

        self._command(step, whole)
        if erases:
            whole()
        self._publish()
        if late == "rejected":
            self._lay_aside(9)
        self._crawl.store_into(self._store)
        if late:
            self._scan()

    @rule(step=st.integers(1, 3))
    def flush(self, step: int) -> None:
        self._frontier.sites.flush_queue("demo")
        self._command(step, lambda: self._frontier.sites.flush_guard("demo", ANN))

    @rule(step=st.integers(1, 40))
    def move(self, step: int) -> None:
        """Move the site to the other cell, cut off anywhere, and finish the move."""
        source, target = self._cells[self._at].frontier, self._cells[1 - self._at].frontier
        self._crawl.store_into(self._store)

        def whole() -> None:
            mover = SiteTransfer("demo", source, target)
            if "demo" not in source.sites.leaving() and target.sites.is_published("demo"):
                return  # it had ended
            while mover.begin():
                source.tick("me")
            if not source.sites.is_published("demo") or mover.freeze():
                mover.arrive()
                mover.end()

        self._command(step, whole)
        whole()
        self._at = 1 - self._at

    # -- failures ------------------------------------------------------------

    @rule(is_forced=st.booleans(), step=st.integers(1, 30), changes=st.none() | CHANGES)
    def recover(self, step: int, changes: list[tuple[str, int, int]] | None, *, is_forced: bool) -> None:
        """Lose the ledger, with threads that were listed and not read yet, or recover by hand, cut off anywhere."""
        if not is_forced:
            self._crawl.store_into(self._store)
        if changes:
            self._change(changes)
            self._crawl.make_due()
            self._frontier.produce()
            self._crawl.work([Stage.LIST])
            self._store_once()
        rebuild = prepare_rebuild(self._frontier, self._store, None)
        if is_forced:
            self._command(step, lambda: rebuild.run({"demo": self._site()}, lambda _: None, walk=True))
        else:
            self._crawl.client.flushdb()
        self._recover()

    def _keep_copies(self) -> None:
        self._crawl.store_into(self._store)
        client = self._crawl.client
        self._kept = {key: client.dump(key) for key in client.keys("*")}
        with (
            closing(sqlite3.connect(self._folder / "crawl.db")) as source,
            closing(sqlite3.connect(self._folder / "copy.db")) as copy,
        ):
            source.backup(copy)

    @rule(is_database=st.booleans(), changes=CHANGES, is_erased=st.booleans(), late=CHANGES | st.none())
    def bring_a_copy_back(
        self, changes: list[tuple[str, int, int]], late: list[tuple[str, int, int]] | None, *, is_database: bool,
        is_erased: bool,
    ) -> None:  # fmt: skip
        """Bring Redis or the database back as it was before some changes, or before the site was begun anew.

        What is `late` changes, and is read, before a store worker notices.
        """
        self._keep_copies()
        if is_erased:
            self.remove(9, "", erases=not is_database)
        self.change(changes, 1)
        if is_database:
            self._crawl.store_into(self._store)
            self._store.close()
            for file in self._folder.glob("crawl.db*"):
                file.unlink()
            shutil.copy(self._folder / "copy.db", self._folder / "crawl.db")
            self._store = Store(self._database).open()
        else:
            self._crawl.client.flushdb()
            for key, value in self._kept.items():
                self._crawl.client.restore(key, 0, value)
        if late and is_database:
            self.change(late, 1)
        self._look()
        self._recover()
        with suppress(Exception):
            self._publish()
        if is_database:
            # A count that is that of the copy again before any list was read tells nothing: docs/what-if.md.
            self._scan()

    # -- workers ------------------------------------------------------------

    @rule(dies=st.booleans(), is_second=st.booleans())
    def work_badly(self, *, dies: bool, is_second: bool) -> None:
        """Let a worker die with a page, or wake up behind another one, or send its commit twice."""
        self._crawl.make_due()
        self._frontier.produce()
        for rid in list(self._crawl.client.hkeys("test:s:demo:open"))[:1]:
            held = self._frontier.lease("demo", int(rid))
            if isinstance(held, Lease):
                self._lose_lease(rid)
                second = self._frontier.lease("demo", int(rid)) if is_second else None
                if not dies:
                    assert self._frontier.commit(held, NOTHING) is None
                if isinstance(second, Lease):
                    self._lose_lease(rid)
        self._crawl.work()
        self._scan()

    def _lose_lease(self, rid: bytes) -> None:
        """Let the time of a lease run out, and the wait of a page behind that."""
        self._crawl.client.zadd("test:s:demo:leased", {rid: 0})
        for _ in range(2):
            self._crawl.client.zadd("test:due", {"demo": 0})
            self._frontier.tick("me")
            end_delays(self._crawl.client)

    @rule(changes=CHANGES)
    def sleep_in_the_store(self, changes: list[tuple[str, int, int]]) -> None:
        """Let a store worker draw pages and sleep, while another one takes them over and stores them."""
        self._change(changes)
        self._crawl.scan()
        drawn = self._frontier.outbox.draw("asleep", 5)
        if drawn.pages:
            self._asleep.append((self._frontier, drawn))
            self._write(self._frontier, self._frontier.outbox.draw("awake", 1000, takeover_ms=0))

    @rule()
    def wake_up_in_the_store(self) -> None:
        while self._asleep:
            self._write(*self._asleep.pop())

    @rule(changes=CHANGES, most=st.integers(1, 3))
    def reject(self, changes: list[tuple[str, int, int]], most: int) -> None:
        """Lay pages aside that the database refuses."""
        self._change(changes)
        self._crawl.scan()
        self._lay_aside(most)

    def _lay_aside(self, most: int) -> None:
        for page, _ in self._frontier.outbox.draw("refused", most).pages:
            Admin(self._frontier).failed.items.put(page, "refused")

    @rule()
    def retry(self) -> None:
        for crawl in self._cells:
            Admin(crawl.frontier).failed.items.retry()
            crawl.store_into(self._store)

    # -- the end ------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "_forum"):
            return
        try:
            self._rest()
            self._compare()
        finally:
            self._store.close()
            self._stack.close()

    def _rest(self) -> None:
        """Let the forum rest and the site run, for the scans that bring back what was gone."""
        self.wake_up_in_the_store()
        self.retry()
        self._boards = "1, 2"
        self._publish()
        assert self._gate_is() == self._gate
        self._frontier.sites.resume("demo", ANN)
        for act in (Act.GO, Act.FREE, Act.WALK):
            Admin(self._frontier).board_schedule.change("demo", ["1", "2"], act, by=ANN)
        for scan in range(MOST_SCANS):
            self._crawl.client.zadd("test:due", {"demo": 0})
            self._frontier.tick("me")
            self._scan()
            if scan > 0 and self._stored() == self._wanted():
                break

    def _gate_is(self) -> str:
        paused, draining = self._crawl.client.hmget("test:s:demo", "paused", "draining")
        return "pause" if paused == b"1" else "drain" if draining == b"1" else "run"

    def _wanted(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the state and the words of the threads that are there, and the words of their replies."""
        live = [thread for thread in self._forum.threads if not thread.is_gone]
        words = {reply: f"words of {reply}" for thread in live for reply in thread.replies}
        return {str(thread.number): f"normal: {thread.body}" for thread in live}, words

    def _stored(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the same of the rows. Replies that went are marked by full passes only, and threads by their pages."""
        posts, words = self._wanted()
        states = dict(self._rows("select post_id, coalesce(state, 'normal') || ': ' || body from posts"))
        bodies = dict(self._rows("select comment_id, body from comments where coalesce(state, 'normal') = 'normal'"))
        return {key: states.get(key, "") for key in posts}, {key: bodies.get(key, "") for key in words}

    def _compare(self) -> None:
        stored, wanted = self._stored(), self._wanted()
        assert stored == wanted, (stored, wanted)
        there = {row[0] for row in self._rows("select comment_id from comments")}
        assert there & self._erased == set()
        counts = Inspector(self._frontier).count_requests("demo")
        assert (counts.imbalance(), counts.count("stored")) == ("", counts.done)
        flaws = [str(found) for found in Check(self._frontier, self._store).run()]
        assert flaws == [], flaws
        keys = [key.decode() for key in self._crawl.client.keys("test:*")]
        assert [key for key in keys if any(part in key for part in LEFT_OVER)] == []
        assert self._cells[1 - self._at].client.keys("test:s:demo*") == []

    def _rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self._folder / "crawl.db")) as connection, connection:
            return connection.execute(query).fetchall()


@pytest.mark.parametrize("guard", GUARDS)
def test_after_any_history_the_rows_are_those_of_a_forum_that_rests(guard: str, redis_server: RedisServer) -> None:
    AnyHistory.url, AnyHistory.guard = redis_server.url, guard

    # Asserts in the teardown.
    run_state_machine_as_test(
        AnyHistory, settings=settings(max_examples=HISTORIES // len(GUARDS), stateful_step_count=STEPS)
    )
