"""Two Redis under one crawl, with real workers: one dies and comes back, and a third takes its share of the sites."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from crawl_tasks.frontier.cells import Cells, home_of
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.store.upsert import Store
from tests.flow.world import ROOT
from tests.frontier.small_crawl import RULES, SmallForum, small_forum
from tests.waiting import PATIENCE_S, eventually

NAMES = [f"forum{number}" for number in range(6)]
POSTS = 60
PROGRAM = [sys.executable, "-m", "crawl_tasks"]


def site_file(name: str, forum: SmallForum) -> str:
    place = forum.url.removeprefix("http://")
    text = RULES.replace("name: demo", f"name: {name}").replace("http://127.0.0.1:1", forum.url)
    text = text.replace("window: 50, delay_s: 0,", "window: 2, delay_s: 0.05,")
    return f'{text}boards: [1]\nprivate_hosts: ["{place}"]\n'


class Fleet:
    """Three Redis servers, of which a crawl names some, a forum for each site, and the processes of a run."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home
        self.servers = {cell: RedisServer(home / cell) for cell in "abc"}
        self.forums = {name: stack.enter_context(small_forum()) for name in NAMES}
        (home / "sites").mkdir()
        for name, forum in self.forums.items():
            (home / "sites" / f"{name}.yaml").write_text(site_file(name, forum), "utf-8")
            self.write(name, POSTS)
        for server in self.servers.values():
            server.start()
            stack.callback(server.stop)
        self._running: subprocess.Popen[bytes] | None = None
        stack.callback(self.end)

    def write(self, name: str, count: int) -> None:
        """Write a forum of so many threads."""
        forum = self.forums[name]
        forum.board("1", 1, *(f"{number} 1" for number in range(1, count + 1)))
        for number in range(1, count + 1):
            forum.thread(str(number), f"{number}1 hello")

    def environment(self, cells: str) -> dict[str, str]:
        return os.environ | {
            "CRAWL_REDIS_URL": " ".join(f"{cell}={self.servers[cell].url}" for cell in cells),
            "CRAWL_STATE_DIR": str(self.home / "state"),
            "CRAWL_SITES_DIR": str(self.home / "sites"),
            "CRAWL_PRODUCE_EVERY_S": "0.5",
            "PYTHONPATH": str(ROOT),
        }

    def start(self, cells: str) -> None:
        with (self.home / "run.log").open("ab") as log:
            self._running = subprocess.Popen(
                [*PROGRAM, "run"], env=self.environment(cells), cwd=self.home, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def end(self) -> None:
        if self._running is not None:
            self._running.send_signal(signal.SIGTERM)
            self._running.wait(timeout=PATIENCE_S)
            self._running = None

    def command(self, *arguments: str, cells: str = "ab") -> str:
        return subprocess.run(
            [*PROGRAM, *arguments], env=self.environment(cells), cwd=self.home, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        ).stdout  # fmt: skip

    def frontier(self, cell: str) -> Frontier:
        return Frontier(open_client(self.servers[cell].url, "", retry=None), "crawl", cell=cell)

    def stored(self) -> Counter[str]:
        """Count the stored posts that were fetched, by site."""
        file = self.home / "state" / "crawl.db"
        if not file.exists():
            return Counter()
        with closing(sqlite3.connect(file, timeout=30)) as database, database:
            try:
                rows = database.execute("SELECT site, count(body) FROM posts GROUP BY site")
                return Counter(dict(rows))
            except sqlite3.OperationalError:
                return Counter()

    def is_done(self, names: list[str], count: int = POSTS) -> bool:
        stored = self.stored()
        return all(stored[name] == count for name in names)

    def asked(self, name: str) -> Counter[str]:
        return Counter(path for path in self.forums[name].asked if path.startswith("/post/"))

    def require_sound(self, cells: str) -> None:
        """The ledger check of every cell, with guard, queues and database."""
        frontiers = Cells(self.frontier(cell) for cell in cells)
        everywhere = frontiers.sites()
        assert list(everywhere) == NAMES
        with Store(f"sqlite:///{self.home}/state/crawl.db") as store:
            for frontier in frontiers:
                own = frontier.sites.names()
                assert [Inspector(frontier).count_requests(name).imbalance() for name in own] == [""] * len(own)
                assert [str(found) for found in Check(frontier, store, (), everywhere.keys() - set(own)).run()] == []


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path, stack)


def test_a_dead_cell_stops_its_own_sites_and_they_go_on_when_it_is_back(fleet: Fleet) -> None:
    in_b = [name for name in NAMES if home_of(name, "ab") == "b"]
    in_a = [name for name in NAMES if name not in in_b]
    assert in_a
    assert in_b
    fleet.start("ab")
    eventually(lambda: all(fleet.stored()[name] for name in NAMES), every_s=0.05)
    assert fleet.frontier("a").sites.names() == in_a

    fleet.servers["b"].stop()
    eventually(lambda: fleet.is_done(in_a), every_s=0.2)

    assert not any(fleet.is_done([name]) for name in in_b)
    status = fleet.command("status")
    assert f"b: this cell does not answer: its {len(in_b)} sites ({', '.join(in_b)}) stand still" in status

    fleet.servers["b"].start()
    eventually(lambda: fleet.is_done(NAMES), every_s=0.2)
    fleet.end()
    # A page in hand when Redis died may be asked for once more, and no other.
    again = {name: [path for path, count in fleet.asked(name).items() if count > 1] for name in NAMES}
    assert [again[name] for name in in_a] == [[]] * len(in_a)
    assert all(len(again[name]) <= 2 for name in in_b)
    fleet.require_sound("ab")


@pytest.mark.long
def test_a_cell_is_added_while_the_sites_are_crawled_and_takes_only_its_share(fleet: Fleet) -> None:
    before = {name: home_of(name, "ab") for name in NAMES}
    after = {name: home_of(name, "abc") for name in NAMES}
    moving = [name for name in NAMES if after[name] == "c"]
    assert 0 < len(moving) < len(NAMES)
    moved = threading.Event()
    for name in moving:
        # Each page takes its time until the sites have moved, so that they move in the middle on a busy machine too.
        fleet.forums[name].then |= {f"/post/{number}": lambda: moved.wait(0.5) for number in range(1, POSTS + 1)}
    fleet.start("ab")
    eventually(lambda: all(fleet.stored()[name] for name in NAMES), every_s=0.05)

    told = fleet.command("sites", "move", cells="abc")
    moved.set()

    assert sorted(line.partition(":")[0] for line in told.splitlines()[:-1]) == moving
    assert not any(fleet.is_done([name]) for name in moving)
    eventually(lambda: fleet.is_done([name for name in NAMES if name not in moving]), every_s=0.2)
    # Workers of the new cell, as a person adds them.
    fleet.end()
    fleet.start("abc")
    eventually(lambda: fleet.is_done(NAMES), every_s=0.2)
    fleet.end()
    for cell in "abc":
        assert fleet.frontier(cell).sites.names() == [name for name in NAMES if after[name] == cell], before
    # Nothing is lost, and nothing is fetched twice.
    assert {name: dict(fleet.asked(name)) for name in NAMES} == {
        name: {f"/post/{number}": 1 for number in range(1, POSTS + 1)} for name in NAMES
    }
    fleet.require_sound("abc")


def test_a_worker_without_a_cell_is_refused_with_the_remedy(fleet: Fleet) -> None:
    (fleet.home / "state").mkdir()
    for program in ("worker", "beat"):
        done = subprocess.run(
            [sys.executable, "-m", "celery", "-A", "crawl_tasks", program], env=fleet.environment("ab"), cwd=fleet.home,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "CRAWL_REDIS_URL names the cells a, b, and a process serves one" in done.stderr
