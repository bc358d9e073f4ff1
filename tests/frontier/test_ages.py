"""Redis and the database know how far the other one was, cell by cell, until a recovery has mended both."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Parsed, Post, Request, Stage
from crawl_tasks.recovery.ages import LedgerState, loss_of
from crawl_tasks.recovery.rebuild import known_sites
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.ledger_watch import LedgerWatch, prepare_rebuild
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.by_hand import released
from tests.unit.command_line import run, site_text


class Killed(BaseException):
    """The end of a command by kill -9."""


class TwoCells:
    """Two cells, each with a site of two boards, that fill one database."""

    def __init__(self, clients: tuple[redis.Redis, redis.Redis], folder: Path) -> None:
        self.first, self.second = (Frontier(one, "test", cell=cell) for one, cell in zip(clients, "ab", strict=True))
        self.sites = {"a": "one", "b": "two"}
        self.cells = Cells([self.first, self.second])
        self._file = folder / "crawl.db"
        self.store = Store(f"sqlite:///{self._file}").open()
        for cell in self.cells:
            self.publish(cell)

    def publish(self, cell: Frontier) -> None:
        name = self.sites[cell.cell]
        publish_site(cell, parse_site(site_text(name), f"{name}.yaml"), None, "host:files")

    def crawl(self, cell: Frontier, number: int) -> None:
        """Fetch a thread, and store it."""
        self.commit(cell, number)
        OutboxConsumer(cell, lambda: self.store, batch=9, worth=1).run()

    def commit(self, cell: Frontier, number: int) -> None:
        site = self.sites[cell.cell]
        cell.admit(site, [Request(site, Stage.POST, str(number), f"http://127.0.0.1/{number}")])
        [rid] = released(cell.client)
        lease = cell.lease(site, rid)
        items = Items(site, posts=(Post(str(number), lease.token / 1000, body="words"),))
        assert cell.commit(lease, Parsed(items))

    def back_up(self) -> None:
        self._copy(self._file, self._file.with_name("copy.db"))

    def restore(self) -> None:
        self.store.close()
        for file in self._file.parent.glob("crawl.db*"):
            file.unlink()
        self._copy(self._file.with_name("copy.db"), self._file)
        self.store = Store(f"sqlite:///{self._file}").open()

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as before, closing(sqlite3.connect(target)) as copy:
            before.backup(copy)

    def recover(self, cell: Frontier) -> bool:
        return prepare_rebuild(cell, self.store, None, self.cells).run_if_lost(lambda _: None)

    def losses(self) -> tuple[LedgerState, LedgerState]:
        return loss_of(self.first, self.store), loss_of(self.second, self.store)


@pytest.fixture
def two(client: redis.Redis, redis_server: RedisServer, tmp_path: Path) -> Iterator[TwoCells]:
    with open_client(f"{redis_server.url.rsplit('/', 1)[0]}/1", "") as other:
        two = TwoCells((client, other), tmp_path)
        yield two
        two.store.close()


def test_each_cell_of_a_restored_database_is_noticed_and_mended_by_itself(two: TwoCells) -> None:
    for cell in two.cells:
        two.crawl(cell, 1)
    two.back_up()
    two.crawl(two.second, 2)
    two.crawl(two.first, 2)
    two.restore()
    assert two.losses() == (LedgerState.OLDER_DATABASE, LedgerState.OLDER_DATABASE)

    assert two.recover(two.first)

    assert two.losses() == (LedgerState.WHOLE, LedgerState.OLDER_DATABASE)
    assert two.recover(two.second)
    assert two.losses() == (LedgerState.WHOLE, LedgerState.WHOLE)


def test_what_another_cell_writes_hides_no_restored_database(two: TwoCells) -> None:
    for cell in two.cells:
        two.crawl(cell, 1)
    two.back_up()
    two.crawl(two.second, 2)
    two.restore()

    for number in range(2, 9):
        two.crawl(two.first, number)

    assert two.losses() == (LedgerState.WHOLE, LedgerState.OLDER_DATABASE)


def test_a_restored_database_is_noticed_however_much_its_own_workers_write(two: TwoCells) -> None:
    two.crawl(two.first, 1)
    two.back_up()
    two.crawl(two.first, 2)
    two.restore()

    for number in range(3, 9):
        two.crawl(two.first, number)

    assert loss_of(two.first, two.store) is LedgerState.OLDER_DATABASE
    assert two.recover(two.first)
    two.crawl(two.first, 9)
    assert loss_of(two.first, two.store) is LedgerState.WHOLE


def test_store_workers_that_overlap_make_no_database_older(two: TwoCells) -> None:
    workers = [OutboxConsumer(two.first, lambda: two.store, batch=1, worth=9) for _ in range(2)]

    for number in range(6):
        two.commit(two.first, number)
        workers[number % 2].run()
        two.crawl(two.second, number)

    assert two.losses() == (LedgerState.WHOLE, LedgerState.WHOLE)


# -- a recovery that was cut off --------------------------------------------------------------------------------------


def cut_off(monkeypatch: pytest.MonkeyPatch, step: int, command: Callable[[], object]) -> bool:
    """Run a command that is killed in front of its n-th call. Return whether it came so far."""
    calls, call = 0, Scripts.call

    def counted(self: Scripts, verb: Verb, *args: str | bytes | int) -> list[object]:
        nonlocal calls
        calls += 1
        if calls > step:
            raise Killed
        return call(self, verb, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Scripts, "call", counted)
        try:
            command()
        except Killed:
            return True
    return False


def walks(client: redis.Redis, site: str) -> list[bytes | None]:
    return [client.hget(f"test:s:{site}:board:{board}", "walk") for board in ("1", "b2")]


@pytest.mark.parametrize("step", range(2, 26, 2))
@pytest.mark.parametrize("is_forced", [False, True])
def test_a_recovery_that_was_cut_off_is_done_whole_by_the_next_one(
    step: int, is_forced: bool, two: TwoCells, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.crawl(two.first, 1)
    two.back_up()
    two.crawl(two.first, 2)
    rebuild = prepare_rebuild(two.first, two.store, None, two.cells)
    if is_forced:
        sites = known_sites(two.first, two.store, two.cells)
        was_cut = cut_off(monkeypatch, step, lambda: rebuild.run(sites, lambda _: None, walk=True))
    else:
        two.restore()
        was_cut = cut_off(monkeypatch, step, lambda: two.recover(two.first))
    begun = two.first.client.exists("test:underway") or loss_of(two.first, two.store) is not LedgerState.WHOLE
    two.first.client.delete("test:rebuilder")

    two.recover(two.first)

    if was_cut and begun:
        assert walks(two.first.client, "one") == [b"1000000"] * 2
    assert loss_of(two.first, two.store) is LedgerState.WHOLE
    assert two.first.sites.names() == ["one"]
    assert two.first.client.hget("test:s:one", "paused") == b"0"


@pytest.mark.parametrize("step", range(2, 8))
def test_a_site_of_which_the_database_knows_nothing_outlives_a_recovery_that_was_cut_off(
    step: int, two: TwoCells, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.back_up()
    two.crawl(two.first, 1)
    two.restore()
    assert cut_off(monkeypatch, step, lambda: two.recover(two.first))
    two.first.client.delete("test:rebuilder")

    two.recover(two.first)

    assert two.first.sites.names() == ["one"]
    assert loss_of(two.first, two.store) is LedgerState.WHOLE


# -- a new database ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_stored", [False, True])
def test_a_new_database_under_an_old_ledger_is_said_and_filled_by_one_command(
    has_stored: bool, two: TwoCells, redis_server: RedisServer, tmp_path: Path
) -> None:
    two.crawl(two.first, 1)
    with Store(f"sqlite:///{tmp_path}/new.db") as new:
        two.store = new
        if has_stored:
            two.crawl(two.first, 2)

        LedgerWatch(two.first, lambda: new, contact=None, by_itself=False).look()

        halted = Admin(two.first).restore.halted()
        assert halted.startswith("The database is new, and holds nothing")
        assert halted.endswith("run: crawl-tasks recover")
        recovered = run(
            "recover", home=tmp_path, redis_url=f"a={redis_server.url}", database_url=f"sqlite:///{tmp_path}/new.db"
        )
        assert (recovered.exit_code, recovered.stderr) == (0, "")
        assert recovered.stdout.startswith("one: ")
        assert loss_of(two.first, new) is LedgerState.WHOLE
        assert (Admin(two.first).restore.halted(), two.first.produce()[0]) == ("", 2)
