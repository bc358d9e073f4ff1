"""Pages that break off with status 200, as by an error of the forum's program: they are asked for again."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.store.upsert import Store
from tests.frontier.small_crawl import RULES, SmallCrawl

ATTEMPTS = 3
AGAIN = RULES.replace("retry_base_s: 0.1", f"retry_base_s: 0.1, max_attempts: {ATTEMPTS}")
CHAINED = AGAIN.replace("  next: .next\n", "  next: .next\n  walk: chain\n")
END = "</body></html>"
FATAL = "<br><b>Fatal error</b>: Allowed memory size exhausted"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


def retry(crawl: SmallCrawl) -> list[str]:
    """Wait for the requests that are tried again later, and work on them once."""
    waiting = crawl.client.zrange("test:s:demo:delayed", 0, -1, withscores=True)
    time.sleep(max(0.0, max((due for _, due in waiting), default=0.0) / 1000 - time.time()) + 0.01)
    crawl.client.zadd("test:due", {"demo": 0})
    crawl.frontier.tick("me")
    return crawl.work()


def write_thread(crawl: SmallCrawl, comments: int, *, seen: int | None = None) -> None:
    """Write thread 7 and its row. With `seen` the thread's page breaks off behind so many comments."""
    shown = comments if seen is None else seen
    crawl.forum.thread("7", *(f"c{one} words" for one in range(shown)), more=END if seen is None else FATAL)
    crawl.forum.board("1", 1, f"7 {comments}", more=END)


def normal(tmp_path: Path) -> set[str]:
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection:
        return {one for (one,) in connection.execute("select comment_id from comments where state = 'normal'")}


def test_a_thread_whose_page_breaks_off_is_asked_for_until_it_is_whole(
    crawl: SmallCrawl, store: Store, tmp_path: Path
) -> None:
    crawl.publish(rules=AGAIN)
    write_thread(crawl, 3)
    crawl.scan()

    write_thread(crawl, 5, seen=2)
    broken = crawl.scan()
    is_open = Inspector(crawl.frontier).count_requests("demo").open
    write_thread(crawl, 5)
    mended = retry(crawl)
    crawl.store_into(store)

    assert (broken, is_open, mended) == (["/list/1/1", "/post/7"], 1, ["/post/7"])
    assert normal(tmp_path) == {f"c{one}" for one in range(5)}


def test_a_thread_whose_page_always_breaks_off_is_read_as_far_as_it_goes_and_marks_nothing(
    crawl: SmallCrawl, store: Store, tmp_path: Path
) -> None:
    crawl.publish("boards: [1]\ninterval: {full_pass_s: 86400}\n", rules=AGAIN)
    write_thread(crawl, 4)
    crawl.scan()

    write_thread(crawl, 5, seen=2)
    asked = crawl.full_pass()
    while Inspector(crawl.frontier).count_requests("demo").open:
        asked += retry(crawl)
    crawl.store_into(store)

    assert asked.count("/post/7") >= ATTEMPTS
    assert normal(tmp_path) == {f"c{one}" for one in range(4)}


def test_a_list_that_breaks_off_before_its_link_to_the_next_page_ends_no_walk(crawl: SmallCrawl) -> None:
    crawl.publish(rules=CHAINED)
    crawl.forum.thread("7", more=END)
    crawl.forum.board("1", 1, "7 0", more=END)
    crawl.scan()
    crawl.forum.thread("8", more=END)
    crawl.forum.thread("9", more=END)
    crawl.forum.board("1", 1, "9 0", more=FATAL)
    crawl.forum.board("1", 2, "8 0", "7 0", more=END)

    broken = crawl.scan()
    crawl.forum.board("1", 1, "9 0", more="<a class=next href=/list/1/2>2</a>" + END)
    mended = retry(crawl)

    assert (broken, sorted(mended)) == (["/list/1/1"], ["/list/1/1", "/list/1/2", "/post/8", "/post/9"])


def test_a_document_that_is_read_as_it_comes_is_not_held_against_drawn_ones() -> None:
    """With `render: {auto: true}` a page that says something itself is not drawn, and a browser ends each that is."""
    parser = compile_site(parse_site(RULES + "boards: [1]\n", "demo.yaml"), None).parser
    post = Request("demo", Stage.POST, "7", "http://127.0.0.1:1/post/7")
    drawn = Fetched(
        post.address, 200, {}, f"<h1>seven</h1><div class=body>hello</div>{END}".encode(), 0.0, is_rendered=True
    )
    plain = drawn._replace(body=drawn.body.removesuffix(END.encode()), is_rendered=False)

    assert [parser.parse(post, page, 0).broke_off for page in (drawn, plain, drawn, plain)] == [""] * 4
