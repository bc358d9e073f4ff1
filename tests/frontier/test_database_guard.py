"""The database as duplicate guard: what is stored is not asked for again, and Redis holds nothing of it but changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.errors import SiteError, StoreError
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Operator, Request, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.database_guard import DatabaseGuard
from crawl_tasks.worker.ledger_watch import prepare_rebuild
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.frontier.small_crawl import RULES, SmallCrawl

GUARD = "boards: [1]\nguard: {post: database, comment: database}\n"
PAGER = "<i class=pages>3</i>"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


@pytest.fixture
def history(crawl: SmallCrawl, frontier: Frontier, store: Store) -> SmallCrawl:
    """A crawl of two threads, one of three comment pages, guarded by the database that stores it."""
    guard = DatabaseGuard(lambda: store)
    crawl.pages = PageTask(
        frontier, SiteRegistry(frontier, None), Fetcher(build_client("requests")), mark_stored=guard.mark
    )
    crawl.publish(GUARD)
    crawl.forum.board("1", 1, "10 0", "11 0")
    crawl.forum.thread("10", more=PAGER)
    crawl.forum.thread("11")
    for number in (2, 3):
        crawl.forum.pages[f"/comment/10/{number}"] = f"<div class=c data-id={number}><p class=say>b</p></div>"
    return crawl


def posts_and_comments(paths: list[str]) -> list[str]:
    return sorted(path for path in paths if not path.startswith("/list/"))


def test_what_is_stored_is_not_asked_for_again_and_what_changed_is(
    history: SmallCrawl, store: Store, client: redis.Redis
) -> None:
    first = history.scan()
    history.store_into(store)
    second = history.scan()
    held = [key for key in client.keys("test:s:demo:seen:*") if b":list" not in key]
    history.forum.board("1", 1, "10 0", "11 1", "12 0")
    history.forum.thread("12")
    third = history.scan()

    assert posts_and_comments(first) == ["/comment/10/2", "/comment/10/3", "/post/10", "/post/11"]
    assert posts_and_comments(second) == []
    assert posts_and_comments(third) == ["/post/11", "/post/12"]
    assert held == []
    assert Inspector(history.frontier).count_requests("demo").imbalance() == ""


def test_what_was_listed_and_never_read_is_asked_for_once(history: SmallCrawl, store: Store) -> None:
    history.forum.statuses["/post/11"] = 500
    history.scan()
    history.store_into(store)
    open_before = history.forum.asked.count("/post/11")

    again = history.scan()

    # The request waits for its retry in the ledger, so that the listing makes no second one.
    assert (open_before, again.count("/post/11")) == (1, 0)
    assert Inspector(history.frontier).count_requests("demo").imbalance() == ""


def test_the_database_guards_only_the_stages_that_name_it(history: SmallCrawl, store: Store) -> None:
    history.publish("boards: [1]\nguard: {post: 'off', comment: database}\n")
    history.scan()
    history.store_into(store)

    # No guard stands before the posts, so that those stored are asked for again.
    assert posts_and_comments(history.scan()) == ["/post/10", "/post/11"]
    assert Inspector(history.frontier).count_requests("demo").imbalance() == ""


def test_without_the_database_each_request_is_new_and_no_page_fails(
    history: SmallCrawl, frontier: Frontier, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def connect() -> Store:
        raise StoreError("store: cannot be reached")

    history.scan()
    history.store_into(store)
    guard = DatabaseGuard(connect)
    history.pages = PageTask(
        frontier, SiteRegistry(frontier, None), Fetcher(build_client("requests")), mark_stored=guard.mark
    )

    assert "/post/11" in history.scan()
    assert "its guard takes each request for a new one" in caplog.text
    assert Inspector(history.frontier).count_requests("demo").imbalance() == ""


def test_a_thread_on_two_lists_that_differ_is_asked_for_as_often_as_they_change(
    history: SmallCrawl, store: Store
) -> None:
    history.publish("boards: [1, 2]\nguard: {post: database}\n")
    asked = 0
    for counts in [("2", "1")] * 6 + [("0", "1")] * 3 + [("2", "1")] * 3:
        for board, count in zip("12", counts, strict=True):
            history.forum.board(board, 1, f"11 {count}")
        asked += history.scan().count("/post/11")
        history.store_into(store)

    # At the first scan before the store has it, twice. Then once more for each list, and once for each change.
    assert asked == 2 + 2 + 2


def test_a_thread_that_is_gone_is_asked_for_ever_more_seldom_and_read_when_it_is_back(
    history: SmallCrawl, store: Store
) -> None:
    history.scan()
    history.store_into(store)
    page = history.forum.pages.pop("/post/11")
    history.forum.board("1", 1, "11 1")
    asked = []
    for _ in range(20):
        asked.append(history.scan().count("/post/11"))
        history.store_into(store)
    history.forum.pages["/post/11"] = page

    back = sum(history.scan().count("/post/11") for _ in range(20))

    assert (asked[0], sum(asked) <= 5, 1 <= back <= 2) == (1, True, True)


def test_a_page_that_was_asked_for_again_and_is_not_stored_yet_is_known_to_be_another(history: SmallCrawl) -> None:
    """As where the database refused it, and the thread has its first count of replies again before that is mended."""
    page = Request("demo", Stage.COMMENT, "10", "http://127.0.0.1/comment/10/2", page=2, revision="4", is_stored=True)
    asked = [page, page._replace(revision="3", is_stored=False, is_again=True), page, page]

    assert [history.frontier.admit("demo", [request]).new for request in asked] == [0, 1, 1, 0]


def test_a_thread_that_its_list_calls_deleted_is_asked_for_once_and_when_it_is_back(history: SmallCrawl) -> None:
    new = Request("demo", Stage.POST, "12", "http://127.0.0.1/post/12", revision="4", is_hidden=True)
    deleted = new._replace(is_stored_otherwise=True)
    asked = [new, new._replace(is_stored=True), deleted, deleted, deleted._replace(is_hidden=False)]

    assert [history.frontier.admit("demo", [request]).new for request in asked] == [1, 0, 0, 0, 1]


def test_lists_cannot_be_guarded_by_the_database() -> None:
    with pytest.raises(SiteError, match="the database guards no lists"):
        parse_site(RULES + "boards: [1]\nguard: database\n", "demo.yaml")


@pytest.mark.parametrize("has_lost", [False, True])
def test_a_thread_that_shrank_and_has_its_count_again_behind_a_loss_is_read_whole(
    history: SmallCrawl, store: Store, *, has_lost: bool
) -> None:
    def show(replies: int, pages: int) -> list[str]:
        history.forum.board("1", 1, f"10 {replies}", "11 0")
        history.forum.thread("10", more=f"<i class=pages>{pages}</i>")
        return posts_and_comments([*history.scan(), *history.store_into(store)])

    show(5, 3)
    show(2, 1)
    if has_lost:
        prepare_rebuild(history.frontier, store, None).run({"demo": history.publish(GUARD)}, lambda _: None)
        history.work()

    asked = show(5, 3)

    assert asked == ["/comment/10/2", "/comment/10/3", "/post/10"]
    assert posts_and_comments(history.scan()) == []


@pytest.mark.parametrize("is_told", [True, False])
def test_a_site_that_was_removed_and_published_again_asks_for_what_was_never_read(
    history: SmallCrawl, store: Store, *, is_told: bool
) -> None:
    history.make_due()
    history.frontier.produce()
    history.work([Stage.LIST])  # both threads are admitted, and none is read
    worker = OutboxConsumer(history.frontier, lambda: store, batch=100, worth=1)
    worker.run()
    token = history.frontier.sites.remove("demo", Operator("ann@host", "why"))
    Admin(history.frontier).restore.wipe("demo", token)
    publish_site(
        history.frontier, parse_site(RULES + GUARD, "demo.yaml").relocated(history.forum.url), None, "host:files"
    )
    if is_told:
        worker.run()  # of the publication alone, as it is later than the removal

    assert {"/post/10", "/post/11"} <= set(history.scan())
