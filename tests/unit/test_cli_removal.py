"""The end of a site: removed by an operator, withdrawn with its file, waiting for the run of another; others go on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.inspect.reads import Process
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Lease, Parsed, Post, Request, Stage
from crawl_tasks.operate.only_sites import OnlySites
from crawl_tasks.store.queries import counts, remembered
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.unit.command_line import run, site_text, write_site

Command = Callable[..., Result]


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    return Frontier(client, "test", outbox_max=5000)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/crawl.db"


@pytest.fixture
def command(frontier: Frontier, redis_server: RedisServer, tmp_path: Path, url: str) -> Command:
    """Run a command where the sites one and two are published from their files."""

    def call(*words: str, home: Path = tmp_path) -> Result:
        return run(*words, home=home, redis_url=redis_server.url, database_url=url)

    write_both(tmp_path)
    assert call("sites", "check").exit_code == Exit.OK
    return call


def write_both(home: Path) -> None:
    for port, name in enumerate(("one", "two"), start=8001):
        write_site(home, site_text(name, f"http://127.0.0.1:{port}", f"127.0.0.1:{port}"), name)


def post(site: str, number: int) -> Request:
    return Request(site, Stage.POST, str(number), f"http://127.0.0.1/post/{number}")


def crawl_a_post(frontier: Frontier, client: redis.Redis, site: str, number: int) -> None:
    """Admit a post of a site, and commit it with its item."""
    held = leased(frontier, client, site, number)
    frontier.commit(held, Parsed(Items(site, posts=(Post(str(number), seen_at=held.token / 1000, title="t"),))))


def leased(frontier: Frontier, client: redis.Redis, site: str, number: int) -> Lease:
    frontier.admit(site, [post(site, number)])
    [rid] = client.zrange(f"test:s:{site}:released:post", 0, -1)
    held = frontier.lease(site, int(rid))
    assert isinstance(held, Lease)
    return held


def store_all(frontier: Frontier, url: str) -> None:
    with Store(url) as store:
        OutboxConsumer(frontier, lambda: store, batch=100, worth=1).run()


def keys_of(client: redis.Redis, site: str) -> dict[bytes, bytes]:
    return {key: client.dump(key) for key in client.scan_iter(f"test:s:{site}*")}


def test_a_removed_site_is_gone_and_the_other_one_as_it_was(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    held = leased(frontier, client, "one", 7)
    frontier.admit("one", [post("one", 8)])
    frontier.admit("two", [post("two", 8)])
    frontier.produce()
    before = keys_of(client, "two")

    said = command("sites", "remove", "one", "--yes", "--why", "gone offline")

    assert (said.exit_code, said.stdout) == (Exit.OK, "one is removed; what is stored of it stays\n")
    assert frontier.sites.names() == ["two"]
    assert keys_of(client, "one") == {}
    assert keys_of(client, "two") == before
    assert frontier.commit(held, Parsed(Items("one"))) is None
    assert frontier.lease("one", 1) is NoLease.UNPUBLISHED
    assert [name.split()[0] for name in client.zrange("test:boards", 0, -1)] == [b"two"] * 2
    assert command("check", "two").stdout.count("admitted 3 =") == 1


def test_a_removed_site_comes_back_only_when_it_is_named(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    crawl_a_post(frontier, client, "one", 1)
    crawl_a_post(frontier, client, "two", 1)
    store_all(frontier, url)
    command("sites", "remove", "one", "--yes", "--why", "gone offline")

    checked = command("sites", "check")
    client.flushall()
    recovered = command("recover")

    assert "one: left out, site: removed, 20" in checked.stderr
    assert "gone offline; crawl-tasks sites check one brings it back" in checked.stderr
    assert "two: 0 requests are open again, 1 pages are known" in recovered.stdout
    assert frontier.sites.names() == ["two"]
    assert command("sites", "check").exit_code == Exit.OK
    assert frontier.sites.names() == ["two"]
    assert command("sites", "check", "one").exit_code == Exit.OK
    assert frontier.sites.names() == ["one", "two"]
    assert command("sites", "check").stderr == ""


def test_data_of_a_removed_site_goes_only_when_told_and_that_of_others_never(
    command: Command, frontier: Frontier, client: redis.Redis, url: str
) -> None:
    for site in ("one", "two"):
        crawl_a_post(frontier, client, site, 1)
    store_all(frontier, url)
    crawl_a_post(frontier, client, "one", 2)  # waits for the store

    def stored() -> dict[str, tuple[int, int]]:
        with Store(url) as store:
            return {row.site: (row.posts, len(list(remembered(store, row.site)))) for row in counts(store)}

    assert stored() == {"one": (1, 1), "two": (1, 1)}
    command("sites", "remove", "one", "--yes")
    assert stored() == {"one": (1, 0), "two": (1, 1)}

    said = command("sites", "remove", "one", "--data", "--yes")

    assert said.stdout == "one is removed, with all that was stored of it\n"
    assert stored() == {"two": (1, 1)}
    assert frontier.outbox.size() == 0


def test_data_is_not_deleted_in_the_database_of_another_crawl(command: Command, frontier: Frontier, url: str) -> None:
    with Store(url) as store:
        store.keep("one", "{}", "another", "test:")

    said = command("sites", "remove", "one", "--data", "--yes")

    assert (said.exit_code, "nothing was changed" in said.stderr) == (Exit.USAGE, True)
    assert frontier.sites.names() == ["one", "two"]


def test_a_site_without_a_file_is_scanned_no_more_and_check_says_so(
    command: Command, frontier: Frontier, tmp_path: Path
) -> None:
    (tmp_path / "sites" / "one.yaml").unlink()

    said = command("sites", "check").stdout
    scans = frontier.produce()[0]
    checked = command("check").stdout

    assert "one: its file is gone, so that no scan begins" in said
    assert scans == 2
    assert Inspector(frontier).count_requests("one").admitted == 0
    assert "CrawlSiteWithoutFile: one: its file is gone from" in checked
    assert "CrawlBoardsLate" not in checked
    write_both(tmp_path)
    command("sites", "check")
    assert "CrawlSiteWithoutFile" not in command("check").stdout
    assert not frontier.sites.withdraw("one", "another host:/its/sites")


def test_a_directory_withdraws_no_site_that_another_one_published(
    command: Command, frontier: Frontier, client: redis.Redis, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_site(elsewhere, site_text("three"), "three")

    command("sites", "check", home=elsewhere)

    assert frontier.produce()[0] == 6  # two boards of each of the three
    checked = command("check").stdout
    assert f"three stands in no file of this directory; {client.hget('test:s:three', 'publisher').decode()}" in checked
    assert "CrawlSiteWithoutFile" not in checked


def test_two_directories_that_publish_different_files_of_a_site_are_both_told(command: Command, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    text = site_text("one", "http://127.0.0.1:8001", "127.0.0.1:8001")
    write_site(elsewhere, text.replace("name: one", "name: one\ntitle: Another"), "one")

    second = command("sites", "check", home=elsewhere)

    assert second.stderr.count("one: in place of another file, which ") == 1
    assert f"{tmp_path}/sites published" in second.stderr
    first = command("check").stdout
    assert f"one: the file of this directory is not in force; {socket.gethostname()}:{elsewhere}/sites" in first
    assert "CrawlSiteDiffers: two" not in first
    assert "in place of" not in command("sites", "check", home=elsewhere).stderr


def test_a_withdrawn_site_stays_so_after_a_recovery(
    command: Command, frontier: Frontier, client: redis.Redis, url: str, tmp_path: Path
) -> None:
    crawl_a_post(frontier, client, "one", 1)
    store_all(frontier, url)
    (tmp_path / "sites" / "one.yaml").unlink()
    command("sites", "check")
    client.flushall()

    command("recover")

    assert frontier.sites.names() == ["one"]
    assert frontier.produce()[0] == 0


def test_other_sites_wait_for_a_run_and_go_on_after_it(
    command: Command, frontier: Frontier, client: redis.Redis
) -> None:
    for site in ("one", "two"):
        frontier.admit(site, [post(site, 1)])
    limit = OnlySites([frontier], ["two"], pytest.fail)

    limit.renew([], ())

    assert frontier.lease("one", 1) is NoLease.PAUSED
    assert isinstance(frontier.lease("two", 1), Lease)
    assert frontier.produce()[0] == 2
    assert 0 < client.pttl("test:only") <= 15_000
    assert "a run of other sites serves this Redis: one wait" in command("status").stdout
    frontier.sites.run_only((), 0)
    frontier.tick("here")
    assert isinstance(frontier.lease("one", 1), Lease)


def test_beside_workers_of_others_no_site_waits(command: Command, frontier: Frontier, client: redis.Redis) -> None:
    told: list[str] = []
    limit = OnlySites([frontier], ["two"], told.append)
    limit.renew([], ())

    limit.renew([Process("elsewhere:1", ("list",), 0)], ())
    limit.renew([Process("elsewhere:1", ("list",), 0)], ())

    assert client.exists("test:only") == 0
    assert told == ["workers of others run as well (elsewhere:1): all published sites are fetched"]
