"""A forum changes between two looks: which changes the next scan finds, and which a full pass (docs/changes.md)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, Items, Stage, Sweep
from crawl_tasks.store.upsert import Store
from tests.frontier.by_hand import NOTHING, lease, post, released
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.frontier.test_walk import CHAINED

PASSES = "interval: {full_pass_s: 86400}\n"
PAGE_SIZE = 10
HOUR_S = 3600
TELLING = RULES.replace("last_reply_at: .at}", "last_reply_at: .at, pinned: {css: .pin, attr: class}}").replace(
    "body: .body}", "body: .body, tags: {css: .tags, required: false}, forum_id: {css: .home, required: false}}"
)
STUBBED = RULES.replace("body: .say}", "body: .say, state: {attr: data-state}}")
MARKED = RULES.replace("last_reply_at: .at}", "last_reply_at: .at, state: {css: .dead, attr: data-state}}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path}/crawl.db") as store:
        yield store


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[str], list[Any]]:
    """Return what an SQL query finds in the store: values where a row has one, tuples elsewhere."""

    def ask(query: str) -> list[Any]:
        with closing(sqlite3.connect(tmp_path / "crawl.db")) as connection, connection:
            return [row[0] if len(row) == 1 else row for row in connection.execute(query)]

    return ask


PICTURE = "c1><b class=who>ann</b><p class=say><img src=b.png>"


def thread_of(crawl: SmallCrawl, *comments: int) -> None:
    """Write thread 7 with these comments, ten a page, and the list that counts them."""
    pages = [comments[start : start + PAGE_SIZE] for start in range(0, len(comments), PAGE_SIZE)] or [()]
    for path in [path for path in crawl.forum.pages if path.startswith("/comment/")]:
        del crawl.forum.pages[path]
    for number, some in reversed(list(enumerate(pages, 1))):
        crawl.forum.thread("7", *(f"c{one} words" for one in some), more=f"<b class=pages>{len(pages)}</b>")
        if number > 1:
            crawl.forum.pages[f"/comment/7/{number}"] = crawl.forum.pages["/post/7"]
    crawl.forum.board("1", 1, f"7 {len(comments)}")


def changed(crawl: SmallCrawl, path: str, *changes: tuple[str, str]) -> None:
    """Replace texts of a page."""
    for old, new in changes:
        crawl.forum.pages[path] = str(crawl.forum.pages[path]).replace(old, new)


def comments_there(rows: Callable[[str], list[Any]]) -> set[int]:
    return {int(one[1:]) for one in rows("select comment_id from comments where state = 'normal'")}


def in_order(rows: Callable[[str], list[Any]]) -> str:
    return "".join(rows("select comment_id from comments where state = 'normal' order by position"))


# -- counts and threads that shrink ----------------------------------------------------------------------------------


def test_a_reply_is_fetched_when_the_count_returns_to_an_earlier_value(crawl: SmallCrawl) -> None:
    crawl.publish()
    thread_of(crawl, 1, 2, 3)
    crawl.scan()
    thread_of(crawl, 1, 2)
    fewer = crawl.scan()

    thread_of(crawl, 1, 2, 4)
    as_before = crawl.scan()

    assert fewer == as_before == ["/list/1/1", "/post/7"]
    assert "c4" in {one.comment_id for page in crawl.items() for one in page.comments}


def test_a_filter_that_keeps_no_revision_misses_a_count_that_returns(crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1]\nguard: {post: bloom}\n")
    counts = [(1, 2, 3), (1, 2), (1, 2, 4), (1, 2, 4, 5)]

    asked = []
    for comments in counts:
        thread_of(crawl, *comments)
        asked.append(crawl.scan()[1:])

    assert asked == [["/post/7"], ["/post/7"], [], ["/post/7"]]


def test_without_a_guard_every_thread_that_a_scan_shows_is_fetched(crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1]\nguard: {post: 'off'}\n")
    thread_of(crawl, 1)

    assert [crawl.scan() for _ in range(3)] == [["/list/1/1", "/post/7"]] * 3


@pytest.mark.parametrize(("removed", "replies"), [(8, 5), (8, 3), (15, 4)])
def test_a_thread_that_shrank_and_grows_again_loses_no_reply(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], removed: int, replies: int
) -> None:
    crawl.publish()
    thread_of(crawl, *range(1, 26))
    crawl.scan()
    thread_of(crawl, *range(removed + 1, 26))
    crawl.scan()

    thread_of(crawl, *range(removed + 1, 26 + replies))
    asked = crawl.scan()
    crawl.store_into(store)

    last = -(-(25 - removed + replies) // PAGE_SIZE)
    assert asked == ["/list/1/1", "/post/7", *(f"/comment/7/{page}" for page in range(2, last + 1))]
    assert comments_there(rows) == set(range(1, 26 + replies))  # the removed ones are marked by a full pass only


def test_replies_that_slid_onto_an_earlier_page_between_two_scans_are_found_by_a_full_pass(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, *range(1, 26))
    crawl.scan()
    thread_of(crawl, *range(9, 31))  # eight are removed and five come

    assert crawl.scan() == ["/list/1/1", "/post/7", "/comment/7/3"]
    crawl.store_into(store)
    after_scan = comments_there(rows)
    crawl.full_pass()
    crawl.store_into(store)

    assert {*range(1, 31)} - after_scan == {26, 27, 28}
    assert comments_there(rows) == {*range(9, 31)}


def test_comments_that_slid_while_one_came_back_and_one_went_stand_right_after_a_full_pass(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, 1, 2, 3)
    crawl.scan()
    thread_of(crawl, 0, 1, 3)

    asked = crawl.scan()
    crawl.store_into(store)
    before = in_order(rows)
    crawl.full_pass()
    crawl.store_into(store)

    assert asked == ["/list/1/1"]
    assert (before, in_order(rows)) == ("c1c2c3", "c0c1c3")


# -- threads that go and come ----------------------------------------------------------------------------------------


def states(rows: Callable[[str], list[Any]]) -> dict[str, str]:
    return dict(rows("select post_id, state from posts"))


def test_a_thread_that_came_back_with_the_same_revision_is_asked_for_and_normal_again(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, 1, 2)
    crawl.scan()
    page = crawl.forum.pages.pop("/post/7")
    crawl.full_pass()
    crawl.store_into(store)
    gone = states(rows)

    crawl.forum.pages["/post/7"] = page
    back = crawl.scan()
    crawl.store_into(store)

    assert gone == {"7": "deleted"}
    assert back == ["/list/1/1", "/post/7"]
    assert states(rows) == {"7": "normal"}
    assert [len(crawl.scan()) for _ in range(3)] == [2, 1, 1]  # read once more, with the revision of its list


@pytest.mark.parametrize("status", [404, 410])
def test_a_thread_that_is_gone_by_its_page_is_marked_and_keeps_its_words(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], status: int
) -> None:
    crawl.publish()
    thread_of(crawl, 1)
    crawl.scan()
    crawl.forum.board("1", 1, "7 2")
    crawl.forum.statuses["/post/7"] = status

    crawl.scan()
    crawl.store_into(store)

    assert rows("select state, body from posts") == [("deleted", "hello")]


def test_a_thread_that_its_list_calls_deleted_is_marked_unread_and_read_when_the_list_does_so_no_more(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish(rules=MARKED)
    thread_of(crawl, 1)
    crawl.scan()
    changed(crawl, "/list/1/1", ("<i class=at>", "<i class=dead data-state=deleted></i><i class=at>"))
    marked = crawl.scan()
    crawl.store_into(store)
    gone = states(rows)

    thread_of(crawl, 1, 2)
    back = crawl.scan()
    crawl.store_into(store)

    assert (marked, back) == (["/list/1/1"], ["/list/1/1", "/post/7"])
    assert (gone, states(rows)) == ({"7": "deleted"}, {"7": "normal"})


@pytest.mark.parametrize("is_marked", [False, True], ids=["by its page", "by its list"])
def test_comment_pages_of_a_thread_that_is_back_with_the_revision_it_had_wait_for_a_full_pass(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], is_marked: bool
) -> None:
    crawl.publish("boards: [1]\n" + PASSES, MARKED)
    thread_of(crawl, *range(1, 26))
    crawl.scan()
    if is_marked:
        changed(crawl, "/list/1/1", ("<i class=at>", "<i class=dead data-state=deleted></i><i class=at>"))
        crawl.scan()
    else:
        crawl.forum.statuses["/post/7"] = 404
        crawl.full_pass()
    crawl.forum.statuses.clear()
    thread_of(crawl, *range(1, 25), 26)

    back = crawl.scan()
    crawl.store_into(store)
    after_scan = comments_there(rows)
    crawl.full_pass()
    crawl.store_into(store)

    assert back == ["/list/1/1", "/post/7"]
    assert (after_scan, comments_there(rows)) == ({*range(1, 26)}, {*range(1, 25), 26})


def test_a_page_that_failed_for_a_while_marks_nothing(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish()
    thread_of(crawl, 1)
    crawl.scan()
    crawl.forum.board("1", 1, "7 2")
    crawl.forum.statuses["/post/7"] = 500

    crawl.scan()
    crawl.store_into(store)

    assert states(rows) == {"7": "normal"}
    assert Inspector(crawl.frontier).count_requests("demo").open == 1  # it is tried again


def test_a_full_pass_asks_for_threads_that_no_list_shows_within_its_share(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl_tasks.store.deletions.LEAST_UNLISTED", 2)
    crawl.publish("boards: [1]\n" + PASSES)
    numbers = ["5", "6", "7", "8"]
    for number in numbers:
        crawl.forum.thread(number)
    crawl.forum.board("1", 1, *(f"{number} 0" for number in numbers))
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.board("1", 1, "5 0")
    del crawl.forum.pages["/post/6"]
    first = [crawl.full_pass(), crawl.store_into(store)][1]
    second = [crawl.full_pass(), crawl.store_into(store)][1]

    assert len(first) == 2
    assert {*first, *second} >= {"/post/6", "/post/7", "/post/8"}
    assert states(rows) == {"5": "normal", "6": "deleted", "7": "normal", "8": "normal"}


@pytest.mark.parametrize("said", [401, 403, "a form"])
def test_a_thread_that_no_list_shows_and_that_wants_a_login_is_deleted_and_a_listed_one_is_parked(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], frontier: Frontier, said: int | str
) -> None:
    rules = RULES.replace("  address: /post/{post}\n", "  address: /post/{post}\n  login_when: .login\n")
    crawl.publish("boards: [1]\n" + PASSES, rules)
    for number in ("5", "6", "7"):
        crawl.forum.thread(number)
    crawl.forum.board("1", 1, "5 0", "6 0", "7 0")
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.board("1", 1, "5 0", "7 0")
    for path in ("/post/6", "/post/7"):
        if isinstance(said, int):
            crawl.forum.statuses[path] = said
        else:
            crawl.forum.pages[path] = "<form class=login>"
    crawl.full_pass()
    crawl.store_into(store)

    assert states(rows) == {"5": "normal", "6": "deleted", "7": "normal"}
    assert [one.request.key for one in Admin(frontier).failed.requests.list(Selection("demo"))] == ["7"]
    crawl.forum.statuses.clear()
    crawl.forum.thread("6")
    crawl.forum.board("1", 1, "5 0", "6 0", "7 0")
    crawl.scan()
    crawl.store_into(store)
    assert states(rows)["6"] == "normal"


def test_a_thread_that_no_list_shows_is_not_deleted_for_one_refusal(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    for number in ("5", "6"):
        crawl.forum.thread(number)
    crawl.forum.board("1", 1, "5 0", "6 0")
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.board("1", 1, "5 0")
    crawl.forum.statuses["/post/6"] = 403
    crawl.full_pass()
    crawl.forum.then["/post/6"] = lambda: crawl.forum.then.update({"/post/6": crawl.forum.statuses.clear})
    asked = crawl.store_into(store)

    assert asked == ["/post/6", "/post/6"]
    assert states(rows) == {"5": "normal", "6": "normal"}


def test_a_thread_that_vanished_from_the_lists_is_left_as_it_was_by_scans(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish()
    thread_of(crawl, 1)
    crawl.scan()
    crawl.forum.board("1", 1)
    del crawl.forum.pages["/post/7"]

    assert crawl.scan() == ["/list/1/1"]
    crawl.store_into(store)
    assert states(rows) == {"7": "normal"}


# -- boards, pins and extras -----------------------------------------------------------------------------------------


def telling(crawl: SmallCrawl, *, is_pinned: bool = False, count: int = 0, boards: tuple[str, ...] = ("1",)) -> None:
    pin = "<i class='pin'></i>" if is_pinned else ""
    for board in boards:
        row = f"<div class=row data-id=7><a class=t>post 7</a><i class=n>{count}</i>{pin}</div>"
        crawl.forum.pages[f"/list/{board}/1"] = row


def test_extra_of_the_post_page_survives_a_row_with_other_extra_and_an_unpinned_thread_is_unpinned(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish(rules=TELLING)
    crawl.forum.thread("7", more="<i class=tags>cats</i>")
    telling(crawl, is_pinned=True)
    crawl.scan()
    crawl.store_into(store)
    [pinned] = map(json.loads, rows("select extra from posts"))

    telling(crawl)
    assert crawl.scan() == ["/list/1/1"]
    crawl.store_into(store)

    [unpinned] = map(json.loads, rows("select extra from posts"))
    assert (pinned["tags"], pinned["pinned"]) == ("cats", "pin")
    assert (unpinned["tags"], unpinned.get("pinned")) == ("cats", None)


def test_a_post_s_own_page_decides_its_board_though_two_lists_name_it(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1, 2]\n", TELLING)
    crawl.forum.thread("7", more="<i class=home>2</i>")
    telling(crawl, boards=("1", "2"))

    scans = [crawl.scan() for _ in range(3)]
    crawl.store_into(store)

    assert scans == [["/list/1/1", "/list/2/1", "/post/7"], *[["/list/1/1", "/list/2/1"]] * 2]
    assert rows("select forum_id from posts") == ["2"]


def test_a_thread_that_was_moved_is_of_the_board_whose_list_showed_it_last(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1, 2]\n")
    crawl.forum.thread("7")
    crawl.forum.board("1", 1, "7 0")
    crawl.forum.board("2", 1)
    crawl.scan()
    crawl.forum.board("1", 1)
    crawl.forum.board("2", 1, "7 0")

    assert crawl.scan() == ["/list/1/1", "/list/2/1"]
    crawl.store_into(store)

    assert rows("select forum_id from posts") == ["2"]


def test_a_move_is_found_with_the_post_s_own_page_where_that_names_its_board(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1, 2]\n" + PASSES, TELLING)
    boards, orders = [], []
    crawl.forum.board("2", 1)
    for home, other, order in (("1", "2", "ab"), ("2", "1", "ba")):  # the other board nests answers
        crawl.forum.thread("7", *(f"{one} words" for one in order), more=f"<i class=home>{home}</i>")
        telling(crawl, boards=(home,))
        crawl.forum.board(other, 1)
        crawl.scan()
        crawl.store_into(store)
        boards += rows("select forum_id from posts")
        orders.append(in_order(rows))

    crawl.full_pass()
    crawl.store_into(store)
    boards += rows("select forum_id from posts")

    assert boards == ["1", "1", "2"]
    assert [*orders, in_order(rows)] == ["ab", "ab", "ba"]


# -- clocks ----------------------------------------------------------------------------------------------------------


def test_a_forum_whose_date_was_an_hour_ahead_once_freezes_nothing(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish()
    crawl.forum.ahead_s = HOUR_S
    crawl.forum.thread("7", body="old words")
    crawl.forum.board("1", 1, "7 1")
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.ahead_s = 0
    crawl.forum.thread("7", body="new words")
    crawl.forum.board("1", 1, "7 2")
    crawl.scan()
    crawl.store_into(store)

    assert rows("select body, reply_count from posts") == [("new words", 2)]


def test_a_404_of_a_forum_that_is_ten_minutes_behind_does_not_stay_when_it_is_back(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish()
    thread_of(crawl, 1)
    crawl.scan()
    crawl.forum.board("1", 1, "7 2")
    page = crawl.forum.pages.pop("/post/7")
    crawl.forum.ahead_s = -600
    crawl.scan()
    crawl.store_into(store)
    gone = states(rows)

    crawl.forum.pages["/post/7"] = page
    crawl.scan()
    crawl.store_into(store)

    assert (gone, states(rows)) == ({"7": "deleted"}, {"7": "normal"})


@pytest.mark.parametrize("is_said", [False, True], ids=["by its status", "by gone_when"])
def test_a_404_out_of_a_cache_marks_nothing_that_was_seen_since(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], is_said: bool
) -> None:
    crawl.publish(rules=RULES.replace("post:\n", "post:\n  gone_when: .gone\n", 1))
    thread_of(crawl, 1)
    crawl.scan()
    crawl.store_into(store)
    crawl.forum.board("1", 1, "7 2")
    crawl.forum.statuses["/post/7"] = 200 if is_said else 404
    crawl.forum.pages["/post/7"] = "<b class=gone>no such thread</b>"
    crawl.forum.ages["/post/7"] = 60

    asked = crawl.scan()
    crawl.store_into(store)
    kept = states(rows)
    crawl.forum.board("1", 1, "7 3")
    crawl.forum.ages["/post/7"] = 0
    crawl.scan()
    crawl.store_into(store)

    assert asked == ["/list/1/1", "/post/7"]
    assert (kept, states(rows)) == ({"7": "normal"}, {"7": "deleted"})


# -- full passes and the words of their sweeps -----------------------------------------------------------------------


def test_a_comment_that_slid_while_a_full_pass_was_between_two_pages_is_not_marked(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, *range(1, 26))
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.then["/post/7"] = lambda: thread_of(crawl, *range(2, 26))  # 11 leaves page 2 for page 1
    crawl.full_pass()
    looks = crawl.store_into(store)
    after_one = comments_there(rows)
    crawl.full_pass()
    crawl.store_into(store)

    assert looks == ["/post/7", "/comment/7/2", "/comment/7/3"]
    assert after_one == {*range(1, 26)}  # the first page still showed the one that was removed
    assert comments_there(rows) == {*range(2, 26)}


def test_a_full_pass_whose_last_page_vanished_meanwhile_marks_nothing_and_the_next_one_does(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, *range(1, 22))
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.then["/post/7"] = lambda: thread_of(crawl, *range(2, 21))
    crawl.full_pass()
    crawl.store_into(store)
    after_one = comments_there(rows)
    crawl.full_pass()
    crawl.store_into(store)

    assert after_one == {*range(1, 22)}
    assert comments_there(rows) == {*range(2, 21)}


def test_comments_that_come_back_are_normal_again(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, 1, 2, 3)
    crawl.scan()
    crawl.store_into(store)
    thread_of(crawl, 1, 3)
    crawl.scan()
    crawl.full_pass()
    crawl.store_into(store)
    without = comments_there(rows)

    thread_of(crawl, 1, 2, 3)
    crawl.scan()
    crawl.store_into(store)

    assert (without, comments_there(rows)) == ({1, 3}, {1, 2, 3})


def test_words_names_and_stubs_that_no_list_shows_are_found_by_a_full_pass(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES, STUBBED)
    thread_of(crawl, 1, 2, 3)
    crawl.scan()
    crawl.store_into(store)

    changed(crawl, "/post/7", ("ann", "bea"), ("hello", "good day"), ("=c2>", "=c2 data-state=deleted>"))
    scanned = crawl.scan()
    crawl.full_pass()
    crawl.store_into(store)

    assert scanned == ["/list/1/1"]
    assert rows("select author, state from comments order by comment_id") == [
        ("bea", "normal"), ("bea", "deleted"), ("bea", "normal"),
    ]  # fmt: skip
    assert rows("select body from posts") == ["good day"]
    assert rows("select value from versions where field = 'body' and kind = 'post'") == ["hello"]


def test_words_that_gave_way_to_a_picture_are_no_text_any_more(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, 1, 2)
    crawl.scan()
    crawl.store_into(store)

    changed(crawl, "/post/7", ("hello", "<img src=a.png>"), ("c1><b class=who>ann</b><p class=say>words", PICTURE))
    crawl.full_pass()
    crawl.store_into(store)

    assert rows("select body from posts") == [""]
    assert rows("select body from comments order by comment_id") == ["", "words"]
    assert sorted(rows("select value from versions where field = 'body'")) == ["hello", "words"]


def test_a_stub_on_the_last_page_is_found_with_the_next_reply_and_undone_with_the_one_after(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish(rules=STUBBED)
    thread_of(crawl, 1, 2)
    crawl.scan()
    thread_of(crawl, 1, 2, 3)
    changed(crawl, "/post/7", ("=c2>", "=c2 data-state=deleted>"))
    crawl.scan()
    crawl.store_into(store)
    covered = comments_there(rows)

    thread_of(crawl, 1, 2, 3, 4)
    crawl.scan()
    crawl.store_into(store)

    assert (covered, comments_there(rows)) == ({1, 3}, {1, 2, 3, 4})


def test_a_count_that_a_full_pass_saw_change_is_news_to_scans_when_it_returns(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish("boards: [1]\n" + PASSES)
    thread_of(crawl, 1, 2, 3)
    crawl.scan()
    crawl.store_into(store)
    thread_of(crawl, 1, 3)
    crawl.full_pass()
    crawl.store_into(store)

    thread_of(crawl, 1, 2, 3)
    scanned = crawl.scan()
    crawl.full_pass()
    crawl.store_into(store)

    assert scanned == ["/list/1/1", "/post/7"]
    assert comments_there(rows) == {1, 2, 3}


@pytest.mark.parametrize(
    ("rules", "steps"),
    [
        (RULES, [range(1, 26), range(18, 26), range(18, 41)]),  # a single page in between
        (RULES, [range(1, 26), range(9, 26), range(9, 34)]),  # as many as at first
        (CHAINED, [range(1, 26), range(9, 26), range(9, 31)]),  # pages that are found one from the other
    ],
)
def test_replies_after_a_thread_shrank_are_all_asked_for(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]], rules: str, steps: list[range]
) -> None:
    crawl.publish(rules=rules)

    for numbers in steps:
        thread_of(crawl, *numbers)
        if rules == CHAINED:
            link_pages(crawl, -(-len(numbers) // PAGE_SIZE))
        crawl.scan()
    crawl.store_into(store)

    assert comments_there(rows) >= set(steps[-1])


def link_pages(crawl: SmallCrawl, count: int) -> None:
    """Return each page of thread 7 but the last a link to the next."""
    for number in range(1, count):
        path = "/post/7" if number == 1 else f"/comment/7/{number}"
        crawl.forum.pages[path] = str(crawl.forum.pages[path]) + "<a class=next>next</a>"


def test_old_words_of_sweeps_without_a_name_mark_nothing(store: Store, rows: Callable[[str], list[Any]]) -> None:
    store.write([Items("s", comments=(Comment("7", "c1", 50.0, state="normal"),))])

    written = store.write([Items("s", swept=(Sweep("7", 100.0),))])

    assert written.asked == ()
    assert comments_there(rows) == {1}


def test_a_page_that_a_cache_kept_replaces_nothing_that_was_read_since_it_was_made(
    crawl: SmallCrawl, store: Store, rows: Callable[[str], list[Any]]
) -> None:
    crawl.publish()
    crawl.forum.thread("7", body="new words")
    crawl.forum.board("1", 1, "7 1")
    crawl.scan()
    crawl.store_into(store)

    crawl.forum.thread("7", body="old words")
    crawl.forum.ages["/post/7"] = 100
    crawl.forum.board("1", 1, "7 2")
    asked = crawl.scan()
    crawl.store_into(store)

    assert asked == ["/list/1/1", "/post/7"]
    assert rows("select body from posts") == ["new words"]


@pytest.mark.parametrize("late", [Stage.POST, Stage.COMMENT])
def test_a_page_of_a_thread_that_was_leased_earlier_and_ends_later_does_not_set_its_tail_up(
    late: Stage, frontier: Frontier, client: redis.Redis
) -> None:
    before, after, next_time = (post(7, revision) for revision in "abc")
    if late is Stage.COMMENT:
        before = before._replace(stage=Stage.COMMENT, page=5)
    held = []
    for request in (before, after):
        frontier.admit("demo", [request])
        held += [lease(frontier, rid) for rid in released(client, request.stage.value)]
    older, newer = held
    frontier.commit(newer, NOTHING._replace(tail=2))

    frontier.commit(older, NOTHING._replace(tail=5))

    frontier.admit("demo", [next_time])
    assert lease(frontier, released(client)[0]).tail == 2
