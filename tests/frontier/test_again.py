"""Again, please: known pages by name, whole threads, and a site from its beginning; another site keeps what it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from click.testing import Result

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.recovery.fsck import Check
from crawl_tasks.store.upsert import Store
from tests.frontier.by_hand import TERMS, board, post, posts
from tests.frontier.small_crawl import SmallCrawl
from tests.unit.command_line import run


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/crawl.db"


@pytest.fixture
def command(redis_server: RedisServer, tmp_path: Path, url: str) -> Callable[..., Result]:
    def call(*words: str) -> Result:
        return run(*words, home=tmp_path, redis_url=redis_server.url, database_url=url)

    return call


def forum(crawl: SmallCrawl) -> None:
    """Publish a board with a thread of three comment pages and one of none."""
    crawl.publish("boards: [1]\nrevalidate: true\n")
    crawl.forum.board("1", 1, "10 3", "11 0")
    crawl.forum.thread("10", "1 a", more="<a class=pages href=/comment/10/3>3</a>")
    for page in (2, 3):
        crawl.forum.pages[f"/comment/10/{page}"] = f"<div class=c data-id={page}><b class=who>a</b><p class=say>b</div>"
    crawl.forum.thread("11")
    crawl.forum.etags["/list/1/1"] = '"same"'
    crawl.scan()


def test_a_known_post_is_fetched_again_when_told(crawl: SmallCrawl, command: Callable[..., Result]) -> None:
    forum(crawl)
    command("seed", "demo", "--post", "11")
    crawl.work()

    assert command("seed", "demo", "--post", "11").stdout == "known: post 11\n"
    assert command("seed", "demo", "--post", "11", "--again").stdout == "admitted: post 11\n"
    assert crawl.work() == ["/post/11"]


@pytest.mark.parametrize("what", ["--post=10", "--url={}/comment/10/3"])
def test_a_thread_is_read_whole_when_told(crawl: SmallCrawl, command: Callable[..., Result], what: str) -> None:
    forum(crawl)

    for _ in range(2):
        assert command("seed", "demo", what.format(crawl.forum.url), "--whole").stdout.startswith("admitted")
        assert sorted(crawl.work()) == ["/comment/10/2", "/comment/10/3", "/post/10"]


def test_a_board_is_no_thread(crawl: SmallCrawl, command: Callable[..., Result]) -> None:
    forum(crawl)

    assert "--whole is of threads" in command("seed", "demo", "--board", "1", "--whole").stderr


def test_after_a_flush_of_the_guard_all_is_fetched_as_at_first(
    crawl: SmallCrawl, command: Callable[..., Result]
) -> None:
    forum(crawl)
    first = sorted(crawl.forum.asked)
    assert crawl.scan() == ["/list/1/1"]
    before = len(crawl.forum.asked)

    said = command("sites", "flush", "demo", "--guard", "--yes")
    crawl.scan()

    assert said.stdout == "demo: no page is known; each is fetched when it is listed\n"
    assert sorted(crawl.forum.asked[before:]) == first
    assert crawl.scan() == ["/list/1/1"]
    assert list(Admin(crawl.frontier).audit.guard("demo")) == []


def test_a_recovery_does_not_undo_a_flush(
    crawl: SmallCrawl, client: redis.Redis, command: Callable[..., Result], url: str
) -> None:
    forum(crawl)
    with Store(url) as store:
        crawl.store_into(store)
        command("sites", "flush", "demo", "--guard", "--yes")
        assert list(Check(crawl.frontier, store).run()) == []
    client.flushall()

    assert "0 requests are open again, 0 pages are known" in command("recover").stdout
    assert sorted(crawl.scan()) == ["/comment/10/2", "/comment/10/3", "/list/1/1", "/post/10", "/post/11"]


@pytest.mark.parametrize("guard", ["exact exact exact", "rolling rolling rolling", "bloom bloom bloom"])
def test_a_flush_forgets_one_site_and_not_the_other(frontier: Frontier, client: redis.Redis, guard: str) -> None:
    for name in ("demo", "other"):
        frontier.sites.publish(name, "v1", "{}", TERMS | {"guard": guard}, [])
        frontier.admit(name, [one._replace(site=name) for one in posts(300)])
    others = set(client.scan_iter("test:s:other:*"))

    frontier.sites.flush_guard("demo")

    assert frontier.admit("other", [one._replace(site="other") for one in posts(300)]).known == 300
    assert set(client.scan_iter("test:s:other:*")) == others
    assert frontier.admit("demo", posts(300)).new == 300
    assert frontier.admit("demo", posts(300)).known == 300
    frontier.sites.flush_guard("demo")
    assert frontier.admit("demo", [post(1)]).new == 1
    assert len(list(client.scan_iter("test:s:demo:seen:*"))) == 1


def test_a_flush_of_the_queue_drops_what_nobody_has_begun(
    frontier: Frontier, client: redis.Redis, command: Callable[..., Result]
) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, [board("1")])
    frontier.sites.publish("other", "v1", "{}", TERMS, [])
    frontier.produce()
    frontier.admit("other", [one._replace(site="other") for one in posts(5)])
    frontier.admit("demo", posts(1200))
    frontier.admit("demo", posts(3, start=5000), wait_s=60)

    said = command("sites", "flush", "demo", "--queue", "--yes")

    counts = Inspector(frontier).count_requests("demo")
    assert said.stdout == "demo: 1204 requests dropped\n"
    assert (counts.open, counts.done, counts.imbalance()) == (0, 1204, "")
    assert Inspector(frontier).count_requests("other").open == 5
    assert [one.open_pages for one in Inspector(frontier).boards("demo")] == [0]  # its scan is over
