"""The slower pass over whole boards and whole threads finds what no revision shows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, Fetched, Items, Parsed, Post, Reach, Request, Stage, Sweep
from crawl_tasks.parse.full_scan import first_page_read, next_page_read
from crawl_tasks.store.upsert import Store
from tests.frontier.small_crawl import RULES, SmallCrawl

PERIOD = "boards: [1]\ninterval: {full_pass_s: 86400}\n"
PAGER = "<b class=pages>3</b>"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


def states(tmp_path: Path) -> dict[str, tuple[str | None, str | None]]:
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection, connection:
        return {row[0]: row[1:] for row in connection.execute("select comment_id, state, body from comments")}


def comment_page(forum_crawl: SmallCrawl, page: int, *comments: str) -> None:
    forum_crawl.forum.thread("9", *comments)
    forum_crawl.forum.pages[f"/comment/7/{page}"] = forum_crawl.forum.pages.pop("/post/9")


def old_forum(crawl: SmallCrawl) -> None:
    """Two list pages; thread 7 has three pages of comments."""
    next_ = "<a class=next href=x>next</a>"
    crawl.forum.board("1", 1, "7 5", "8 1", more=next_)
    crawl.forum.board("1", 2, "6 0")
    crawl.forum.thread("6")
    crawl.forum.thread("7", "a one", "b two", more=PAGER)
    comment_page(crawl, 2, "c three", "d four")
    comment_page(crawl, 3, "e five")
    crawl.forum.thread("8", "f six")


def test_edits_and_deletions_that_no_revision_shows_are_found(crawl: SmallCrawl, store: Store, tmp_path: Path) -> None:
    crawl.publish(PERIOD)
    old_forum(crawl)
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.ahead_s = 100
    crawl.forum.thread("7", "a one, edited", "c three", more=PAGER.replace("3", "2"))  # b is gone: c moved up
    comment_page(crawl, 2, "d four", "e five")
    del crawl.forum.pages["/comment/7/3"]
    assert crawl.scan() == ["/list/1/1"]
    asked = crawl.full_pass()
    confirmed = crawl.store_into(store)

    assert sorted(asked) == ["/comment/7/2", "/list/1/1", "/list/1/2", "/post/6", "/post/7", "/post/8"]
    assert confirmed == ["/post/7", "/comment/7/2"] * 2  # its list still says five: a look more than the second
    assert {name: state for name, (state, _) in states(tmp_path).items()} == {
        "a": "normal", "b": "deleted", "c": "normal", "d": "normal", "e": "normal", "f": "normal",
    }  # fmt: skip
    assert (states(tmp_path)["a"][1], states(tmp_path)["b"][1]) == ("one, edited", "two")


TROUBLES = ["a page fails", "a comment lost its id", "no comments are seen", "each page shows the first"]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_is_marked_when_the_thread_was_not_read_whole(
    crawl: SmallCrawl, store: Store, tmp_path: Path, trouble: str
) -> None:
    crawl.publish(PERIOD)
    old_forum(crawl)
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.ahead_s = 100
    crawl.forum.thread("7", "a one", more=PAGER)
    if trouble == "a page fails":
        del crawl.forum.pages["/comment/7/2"]
    elif trouble == "a comment lost its id":
        crawl.forum.pages["/comment/7/2"] = (
            "<div class=c><p class=say>?</div><div class=c data-id=d><p class=say>four</div>"
        )
    elif trouble == "no comments are seen":
        crawl.forum.pages["/comment/7/3"] = "<body>please log in"
    elif trouble == "each page shows the first":
        crawl.forum.thread("7", "a one", "b two", more=PAGER.replace("3", "2"))
        crawl.forum.pages["/comment/7/2"] = crawl.forum.pages["/post/7"]
    else:
        crawl.forum.pages["/comment/7/2"] = crawl.forum.pages["/comment/7/2"]
        crawl.forum.pages["/comment/7/3"] = "<body>"
    crawl.full_pass()
    crawl.store_into(store)

    assert {state for state, _ in states(tmp_path).values()} == {"normal"}


@pytest.mark.parametrize(("count", "state"), [(0, "deleted"), (1, "normal")])
def test_the_only_reply_that_is_removed_is_marked_where_the_list_says_that_there_is_none(
    crawl: SmallCrawl, store: Store, tmp_path: Path, count: int, state: str
) -> None:
    crawl.publish(PERIOD)
    crawl.forum.board("1", 1, "8 1")
    crawl.forum.thread("8", "f six")
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.ahead_s = 100
    crawl.forum.board("1", 1, f"8 {count}")
    crawl.forum.thread("8")  # as a page whose comments the rules do not find looks too
    crawl.full_pass()
    looks = crawl.store_into(store)

    assert (states(tmp_path)["f"][0], looks) == (state, ["/post/8"] * (not count))


@pytest.mark.parametrize(("listed", "deleted"), [(7, 0), (6, 3), (4, 3)])
def test_a_thread_that_lacks_more_than_a_few_replies_of_its_list_proves_none_deleted(
    crawl: SmallCrawl, store: Store, tmp_path: Path, listed: int, deleted: int
) -> None:
    crawl.publish(PERIOD)
    crawl.forum.board("1", 1, "8 7")
    crawl.forum.thread("8", *[f"{name} says {name}" for name in "abcdefg"])
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.ahead_s = 100
    crawl.forum.board("1", 1, f"8 {listed}")
    crawl.forum.thread("8", *[f"{name} says {name}" for name in "abcd"])
    crawl.full_pass()
    crawl.store_into(store)

    assert [state for state, _ in states(tmp_path).values()].count("deleted") == deleted


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_in_which_pages_are_stored_does_not_matter(store: Store, tmp_path: Path, order: int) -> None:
    store.write([Items("s", comments=(Comment("7", "moved", 50.0, state="normal"), Comment("7", "gone", 50.0)))])
    pages = [
        Items("s", comments=(Comment("7", "moved", 100.0, state="normal"),)),
        Items("s", comments=(Comment("7", "last", 101.0, state="normal"),), swept=(Sweep("7", 100.0, "w", 2),)),
    ]
    for page in pages[::order]:
        store.write([page])
        store.write([page])

    assert {name: state for name, (state, _) in states(tmp_path).items()} == {
        "moved": "normal", "gone": "deleted", "last": "normal",
    }  # fmt: skip


def test_a_full_pass_waits_while_the_site_has_no_room_and_holds_up_no_scan(
    crawl: SmallCrawl, frontier: Frontier, client: redis.Redis
) -> None:
    crawl.publish(PERIOD, RULES.replace("window: 50", "window: 50, max_backlog: 1"))
    old_forum(crawl)
    crawl.scan()
    for name in ("full_due", "full_open"):
        client.hset("test:s:demo:board:1", name, 0)
    client.zadd("test:fulls", {"demo 1": 0})
    client.zadd("test:boards", {"demo 1": 0})
    frontier.produce()
    assert Inspector(frontier).count_requests("demo").open == 1

    assert crawl.work() == ["/list/1/1"]
    assert client.hget("test:s:demo:board:1", "full_scan") == b"0"

    client.zadd("test:fulls", {"demo 1": 0})
    frontier.produce()
    client.zadd("test:boards", {"demo 1": 0})
    assert client.hmget("test:s:demo:board:1", "full_scan", "full_open", "open") == [b"1", b"1", b"0"]


def test_the_pages_of_a_full_pass_come_one_by_one_behind_everything_else(
    crawl: SmallCrawl, frontier: Frontier, client: redis.Redis
) -> None:
    crawl.publish(PERIOD)
    old_forum(crawl)
    crawl.scan()
    client.hset("test:s:demo:board:1", "full_due", 0)
    client.zadd("test:fulls", {"demo 1": 0})
    frontier.produce()

    assert sorted(crawl.work()) == ["/comment/7/2", "/comment/7/3", "/list/1/1", "/post/7", "/post/8"]
    assert client.hget("test:s:demo", "levels:post") == b"10"
    client.zadd("test:fulls", {"demo 1": 0})
    frontier.produce()
    assert crawl.work() == ["/list/1/2", "/post/6"]
    client.zadd("test:fulls", {"demo 1": 0})
    frontier.produce()
    assert crawl.work() == []


def test_first_passes_are_spread_over_half_a_period_and_none_is_made_unasked(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1, 2]\n")
    assert client.exists("test:fulls") == 0

    crawl.publish("boards: [1, 2]\ninterval: {full_pass_s: 1000}\n")
    (_, first), (_, second) = client.zrange("test:fulls", 0, -1, withscores=True)
    assert 240_000 < second - first < 260_000
    crawl.publish("boards: [1, 2]\ninterval: {full_pass_s: 100}\n")
    assert client.zrange("test:fulls", 0, -1, withscores=True)[1][1] < first
    crawl.publish("boards: [1, 2]\n")
    assert client.exists("test:fulls") == 0


def test_a_look_at_pages_that_a_cache_made_before_the_last_look_does_not_count(store: Store, tmp_path: Path) -> None:
    thread = Post("7", 100.0, url="http://f/7", reply_count=1)
    store.write([Items("s", comments=(Comment("7", "gone", 50.0), Comment("7", "there", 110.0)), posts=(thread,))])
    words = [
        Sweep("7", 100.0, "w", 1, 2, 120.0),
        Sweep("7", 100.0, "w.2", 2, 2, 120.0, counts=False),
        Sweep("7", 100.0, "w.3", 2, 2, 190.0),
    ]

    asked = [store.write([Items("s", swept=(word,))]).asked for word in words]

    looks = [[(one.reach.whole, one.reach.look, one.reach.made_after, one.wait_s) for one in some] for some in asked]
    assert looks == [[("w.2", 2, 120.0, 1)], [("w.3", 2, 120.0, 5)], []]
    assert {name: state for name, (state, _) in states(tmp_path).items()} == {"gone": "deleted", "there": None}


def test_each_read_of_copies_makes_the_later_waits_of_the_thread_longer_and_others_do_not(store: Store) -> None:
    thread = Post("7", 100.0, url="http://f/7", reply_count=1)
    store.write([Items("s", comments=(Comment("7", "gone", 50.0), Comment("7", "lost", 125.0)), posts=(thread,))])
    words = [
        Sweep("7", 100.0, "w", 1, 2, 120.0),
        Sweep("7", 100.0, "w.2", 2, 2, 120.0, counts=False),
        Sweep("7", 100.0, "w.3", 2, 2, 130.0, read_from=126.0, looked_from=121.0),
        Sweep("7", 100.0, "w.4", 3, 2, 140.0, read_from=136.0, looked_from=121.0),
        Sweep("7", 100.0, "w.5", 4, 2, 140.0, counts=False),
    ]

    asked = [one.wait_s for word in words for one in store.write([Items("s", swept=(word,))]).asked]

    assert asked == [1, 5, 5, 5, 25]


@pytest.mark.parametrize(("whole", "again"), [("w.5", ["w.6"]), ("w.6", [])])
def test_a_comment_in_doubt_after_the_last_try_is_left_to_the_next_pass(
    store: Store, tmp_path: Path, whole: str, again: list[str]
) -> None:
    thread = Post("7", 100.0, url="http://f/7", reply_count=1)
    store.write([Items("s", comments=(Comment("7", "c", 50.0, state="normal"),), posts=(thread,))])

    asked = store.write([Items("s", swept=(Sweep("7", 100.0, whole, 2, counts=False),))]).asked

    assert [one.reach.whole for one in asked] == again
    assert states(tmp_path)["c"][0] == "normal"


@pytest.mark.parametrize("posts", [(), (Post("7", 100.0),)], ids=["no row", "no address"])
def test_a_thread_without_an_address_is_not_looked_at_again(
    store: Store, tmp_path: Path, posts: tuple[Post, ...]
) -> None:
    store.write([Items("s", comments=(Comment("7", "c", 50.0, state="normal"),), posts=posts)])

    asked = store.write([Items("s", swept=(Sweep("7", 100.0, "w"),))]).asked

    assert not asked
    assert states(tmp_path)["c"][0] == "normal"


@pytest.mark.parametrize(("sweep", "state"), [
    (Sweep("7", 100.0, "w.2", 2, read_from=110.0, looked_from=105.0), "normal"),  # the look before saw `seen`
    (Sweep("7", 100.0, "w.2", 2, read_from=110.0, looked_from=106.0), "deleted"),
])  # fmt: skip
def test_the_second_look_marks_what_the_first_did_not_see_either(
    store: Store, tmp_path: Path, sweep: Sweep, state: str
) -> None:
    thread = Post("7", 100.0, url="http://f/7", reply_count=1)
    seen = Comment("7", "seen", 105.0, state="normal")
    store.write([Items("s", comments=(Comment("7", "c", 50.0, state="normal"), seen), posts=(thread,))])

    store.write([Items("s", swept=(sweep,))])

    assert {name: state for name, (state, _) in states(tmp_path).items()} == {"c": state, "seen": "normal"}


def test_a_comment_that_was_seen_when_the_pass_began_counts_among_those_that_the_thread_claims(
    store: Store, tmp_path: Path
) -> None:
    thread = Post("7", 100.0, url="http://f/7", reply_count=1)
    comments = (Comment("7", "c", 50.0, state="normal"), Comment("7", "seen", 100.0, state="normal"))
    store.write([Items("s", comments=comments, posts=(thread,))])

    store.write([Items("s", swept=(Sweep("7", 100.0, "w.2", 2),))])

    assert states(tmp_path)["c"][0] == "deleted"


@pytest.mark.parametrize(("age_s", "counts"), [(0.0, True), (20.0, False)])
def test_the_word_of_a_look_says_whether_its_pages_are_new(age_s: float, counts: bool) -> None:
    reach = Reach(whole="w.2", look=2, read_from=129.0 - age_s, missed_from=100.0, made_after=120.0)
    request = Request("s", Stage.COMMENT, "7", "http://f/7/2", page=2, reach=reach)
    page = Fetched("http://f/7/2", 200, {}, b"", 0.0, age_s=age_s, seen_at=130.0 - age_s)

    parsed = next_page_read(request, Parsed(Items("s", comments=(Comment("7", "c", page.seen_at),))), page)

    [word] = parsed.items.swept
    assert (word.before, word.counts, word.made_after) == (100.0, counts, 131.0 if counts else 120.0)
    assert (word.look, word.whole) == (2, "w.2")


@pytest.mark.parametrize(("later_s", "counts"), [(0.5, False), (1.5, True)])
def test_copies_less_than_a_second_old_are_taken_for_those_of_the_look_before(later_s: float, counts: bool) -> None:
    """An Age of 0 says that a copy is up to a second old: it may show what the look before saw, half way."""
    request = Request("s", Stage.COMMENT, "7", "http://f/7/2", page=2, reach=Reach(whole="w", read_from=100.0))
    page = Fetched("http://f/7/2", 200, {"age": "0"}, b"", 0.0, elapsed_ms=3000, seen_at=100.0)
    parsed = Parsed(Items("s", comments=(Comment("7", "c", page.seen_at),)))
    [first] = next_page_read(request, parsed, page).items.swept
    seen_at = 103.0 + later_s  # the first look's last answer came three seconds after its request

    again = request._replace(reach=Reach(whole="w.2", look=2, read_from=seen_at, made_after=first.made_after))
    [second] = next_page_read(again, parsed, page._replace(seen_at=seen_at)).items.swept

    assert second.counts is counts


@pytest.mark.parametrize(
    ("trouble", "reports"),
    [
        ("", [(True, True)]),
        ("the page says so", [(True, False)]),
        ("a record could not be read", []),
        ("a cache made it before the last look", [(False, False)]),
    ],
)
def test_the_report_of_a_post_page_without_comments_is_bare_unless_the_page_says_so(
    trouble: str, reports: list[tuple[bool, bool]]
) -> None:
    made_after = 200.0 if "cache" in trouble else 120.0
    request = Request("s", Stage.POST, "7", "http://f/7", reach=Reach(whole="w.2", look=2, made_after=made_after))
    parsed = Parsed(Items("s"), notes=("unread",) if "record" in trouble else ())
    page = Fetched("http://f/7", 200, {}, b"", 0.0, seen_at=130.0)

    swept = first_page_read(request, parsed, page, is_empty="says" in trouble).items.swept

    assert [(one.counts, one.is_bare) for one in swept] == reports


@pytest.mark.parametrize(
    ("page_number", "has_next", "seen_from"), [(1, False, 130.0), (1, True, 0.0), (2, False, 0.0), (2, True, 0.0)]
)
def test_a_comment_page_without_comments_is_a_sure_reading_only_as_the_whole_of_a_thread(
    page_number: int, has_next: bool, seen_from: float
) -> None:
    request = Request("s", Stage.COMMENT, "7", "http://f/7", page=page_number, reach=Reach(whole="w", read_from=130.0))
    children = (request._replace(page=page_number + 1),) * has_next
    page = Fetched("http://f/7", 200, {}, b"", 0.0, seen_at=130.0)

    parsed = next_page_read(request, Parsed(Items("s"), children), page)

    handed_on = [child.reach.read_from for child in parsed.children] or [one.before for one in parsed.items.swept]
    assert handed_on == [seen_from] * bool(has_next or seen_from)
    assert all(one.is_bare for one in parsed.items.swept)


def test_no_comment_is_marked_by_a_bare_page_of_a_thread_that_no_list_showed(store: Store, tmp_path: Path) -> None:
    store.write([Items("s", comments=(Comment("7", "c", 50.0, state="normal"),))])

    store.write([Items("s", swept=(Sweep("7", 100.0, "w.3", 3, counts=False, is_bare=True),))])

    assert states(tmp_path)["c"][0] == "normal"


def test_a_look_that_waits_stands_delayed_in_the_ledger_and_is_fetched_later(
    crawl: SmallCrawl, frontier: Frontier, client: redis.Redis
) -> None:
    crawl.publish()
    crawl.forum.thread("7")
    request = Request("demo", Stage.POST, "7", f"{crawl.forum.url}/post/7", reach=Reach(whole="w.2", look=2))

    frontier.admit("demo", [request], wait_s=60)
    waiting, asked = Inspector(frontier).count_requests("demo").delayed, crawl.work()
    for entry in client.zrange("test:s:demo:delayed", 0, -1):
        client.zadd("test:s:demo:delayed", {entry: 0})
    client.zadd("test:due", {"demo": 0})
    frontier.tick("test")

    assert (waiting, asked) == (1, [])
    assert crawl.work() == ["/post/7"]


def test_a_comment_that_slid_past_two_looks_is_not_deleted(crawl: SmallCrawl, store: Store, tmp_path: Path) -> None:
    """While a look is between two pages, earlier comments are deleted, and a later one moves to the page just read."""
    crawl.publish(PERIOD)
    crawl.forum.board("1", 1, "7 1")

    def write(ids: str) -> None:
        pages = [[f"{one} said" for one in ids[at : at + 2]] for at in range(0, len(ids), 2)]
        crawl.forum.thread("7", *pages[0], more=PAGER.replace("3", str(len(pages))))
        for number, comments in enumerate(pages[1:], start=2):
            comment_page(crawl, number, *comments)

    write("abcdefghij")
    crawl.scan()
    crawl.store_into(store)
    crawl.forum.then["/comment/7/2"] = lambda: write("bcdefghij")  # e moves to the page just read
    crawl.full_pass()
    crawl.forum.then["/post/7"] = lambda: write("defghijkl")  # and again: e, behind d, moves to the first page
    looks = crawl.store_into(store)

    assert looks.count("/post/7") == 2  # the second look missed d, which the first one saw
    assert {state for state, _ in states(tmp_path).values()} == {"normal"}
    crawl.full_pass()
    crawl.store_into(store)
    assert "".join(name for name, (state, _) in sorted(states(tmp_path).items()) if state == "deleted") == "abc"


def test_a_pass_whose_list_page_died_goes_on_from_it_the_next_day(
    crawl: SmallCrawl, frontier: Frontier, client: redis.Redis
) -> None:
    rules = RULES.replace("window: 50", "window: 50, max_attempts: 1")
    crawl.publish("boards: [1]\ninterval: {full_pass_s: 2592000}\n", rules)
    for page in range(1, 6):
        crawl.forum.board("1", page, f"{page} 0", more="<a class=next href=x>next</a>" * (page < 5))
        crawl.forum.thread(str(page))
    crawl.scan()
    crawl.forum.statuses["/list/1/3"] = 500
    first = crawl.full_pass()
    crawl.forum.statuses.clear()
    due_h = (float(client.hget("test:s:demo:board:1", "full_due") or 0) - frontier.clock_ms()) / 3_600_000

    again = crawl.full_pass()

    assert "/list/1/4" not in first
    assert 23 < due_h <= 24
    assert [path for path in again if path.startswith("/list")] == ["/list/1/3", "/list/1/4", "/list/1/5"]
