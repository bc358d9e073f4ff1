"""A page of the newest replies over all boards: found there first, at the boards known; what it hides is counted."""

from __future__ import annotations

import time

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.small_crawl import RULES, SmallCrawl

SITE = """
boards: [1, {id: news, kind: news, address: /news}]
freshness: {goal_s: 60, requests_s: 100}
"""


def news(crawl: SmallCrawl, *rows: str) -> None:
    crawl.forum.board("news", 1, *rows)
    crawl.forum.pages["/news"] = crawl.forum.pages["/list/news/1"]


def only(client: redis.Redis, crawl: SmallCrawl, board: str) -> list[str]:
    """Scan one board, and give the paths that were fetched."""
    crawl.client.hdel("test:s:demo", "scan_at")
    client.zadd("test:boards", {f"demo {board}": 0})
    crawl.frontier.produce()
    return crawl.work()


def begun(crawl: SmallCrawl, rules: str = RULES) -> None:
    crawl.publish(SITE, rules)
    crawl.forum.thread("7", "1 one", "2 two", "3 three")
    for number in ("8", "9"):
        crawl.forum.thread(number)
    crawl.forum.board("1", 1, "7 3", "8 0")
    news(crawl, "7 3", "8 0")
    crawl.scan()
    crawl.client.hdel("test:s:demo", "scan_at")
    crawl.scan()


def test_a_reply_is_found_on_the_news_page_and_not_asked_for_again_by_the_board(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    begun(crawl)
    news(crawl, "8 1", "7 3")
    crawl.forum.board("1", 1, "8 1", "7 3")

    assert only(client, crawl, "news") == ["/news", "/post/8"]
    assert only(client, crawl, "1") == ["/list/1/1"]
    assert only(client, crawl, "news") == ["/news"]


@pytest.mark.parametrize("goal_s", [60, 3600])  # an hour is 1, as the board's id
def test_the_first_scan_of_a_board_goes_to_its_end_though_the_news_page_told_of_its_first_threads(
    crawl: SmallCrawl, client: redis.Redis, goal_s: int
) -> None:
    crawl.publish(SITE.replace("60", str(goal_s)))
    for number in range(1, 9):
        crawl.forum.thread(str(number))
        following = f"<a class=next href=/list/1/{number + 1}>more</a>" * (number < 8)
        crawl.forum.board("1", number, f"{number} 0", more=following)
    news(crawl, "1 0", "2 0", "5 0")  # 5 stands in the middle of the board

    first = only(client, crawl, "news")
    later = [only(client, crawl, "1") for _ in range(3)]

    assert first[:2] == ["/news", "/list/1/1"]
    assert {path for path in first if "1/" in path} == {f"/list/1/{number}" for number in range(1, 9)}
    assert {path for path in first if "/post/" in path} == {f"/post/{number}" for number in range(1, 9)}
    # Another walk looks for rows that moved meanwhile. Then a scan ends where it knows all.
    assert later[1:] == [["/list/1/1"]] * 2


def test_a_scan_goes_on_behind_rows_of_a_news_page_with_a_gap_as_far_as_they_are_newer_than_the_last_scan(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish(SITE)
    following = "<a class=next href=/list/1/{}>more</a>"
    for number in range(1, 11):
        crawl.forum.thread(str(number))
    rows = [f"{number} 1 2026-01-01 10:{number:02}" for number in range(11)]
    crawl.forum.board("1", 1, rows[2], rows[1])
    news(crawl, rows[2], rows[1])
    crawl.scan()
    # Eight threads at once, of which the page of all news shows the newest three.
    for page, first in enumerate((10, 8, 6, 4, 2), 1):
        more = following.format(page + 1) if page < 5 else ""
        crawl.forum.board("1", page, rows[first], rows[first - 1], more=more)
    news(crawl, rows[10], rows[9], rows[8])

    assert only(client, crawl, "news") == ["/news", "/post/10", "/post/9", "/post/8"]
    asked = only(client, crawl, "1")

    assert sorted(path for path in asked if "post" in path) == [f"/post/{number}" for number in (3, 4, 5, 6, 7)]
    assert [path for path in asked if "list" in path] == [f"/list/1/{page}" for page in range(1, 6)]


def test_after_a_recovery_a_scan_ends_at_known_rows_of_before(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish(SITE)
    rows = [f"{number} 1 2026-01-01 10:{number:02}" for number in range(5)]
    for number in range(1, 5):
        crawl.forum.thread(str(number))
    crawl.forum.board("1", 1, rows[4], rows[3], more="<a class=next href=/list/1/2>more</a>")
    crawl.forum.board("1", 2, rows[2], rows[1])
    news(crawl)
    crawl.scan()
    # As the database knows the board, and as its walk has ended.
    client.hdel("test:s:demo:board:1", "newest", "known_until", "walk")
    client.hset("test:s:demo", "news_gap", crawl.frontier.clock_ms())
    Admin(crawl.frontier).restore.restore_board("demo", "1", 1, crawl.frontier.clock_ms())

    assert only(client, crawl, "1") == ["/list/1/1"]
    client.hset("test:s:demo:board:1", mapping={"restored": 0, "newest": 0})  # else it goes through all of the board
    assert only(client, crawl, "1") == ["/list/1/1", "/list/1/2"]


def test_a_scan_ends_at_rows_that_the_news_page_told_of_where_that_page_had_no_gap(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish(SITE)
    for number in range(1, 5):
        crawl.forum.thread(str(number))
    rows = [f"{number} 1 2026-01-01 10:{number:02}" for number in range(5)]
    crawl.forum.board("1", 1, rows[2], rows[1])
    news(crawl, rows[2], rows[1])
    crawl.scan()
    client.hset("test:s:demo", "news_gap", 1)  # the first look is one
    crawl.forum.board("1", 1, rows[4], rows[3], more="<a class=next href=/list/1/2>more</a>")
    crawl.forum.board("1", 2, rows[2], rows[1])
    news(crawl, rows[4], rows[3], rows[2])

    assert only(client, crawl, "news") == ["/news", "/post/4", "/post/3"]
    assert only(client, crawl, "1") == ["/list/1/1"]


FANNED = RULES.replace("  next: .next\n", "  next: .next\n  pages: .pages\n  walk: fan\n")


@pytest.mark.parametrize("rules", [RULES, FANNED])
def test_the_news_page_leads_to_its_second_page_by_its_own_link(
    crawl: SmallCrawl, client: redis.Redis, rules: str
) -> None:
    begun(crawl, rules)
    for number in range(10, 14):
        crawl.forum.thread(str(number))
    crawl.forum.board("2", 1, "12 1", "13 1")
    crawl.forum.pages["/news/older"] = crawl.forum.pages["/list/2/1"]
    crawl.forum.board("news", 1, "10 1", "11 1", more="<a class=next href=/news/older>older</a><b class=pages>3</b>")
    crawl.forum.pages["/news"] = crawl.forum.pages.pop("/list/news/1")

    asked = only(client, crawl, "news")

    assert sorted(asked) == ["/news", "/news/older", "/post/10", "/post/11", "/post/12", "/post/13"]


def test_the_news_page_leads_to_no_other_host(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    crawl.forum.thread("10")
    crawl.forum.board("news", 1, "10 1", more="<a class=next href=http://other.example/news>older</a>")
    crawl.forum.pages["/news"] = crawl.forum.pages.pop("/list/news/1")

    assert only(client, crawl, "news") == ["/news", "/post/10"]
    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.open, counts.dead, counts.parked) == (0, 0, 0)


def test_a_row_of_the_news_page_belongs_to_no_board(crawl: SmallCrawl) -> None:
    begun(crawl)
    pages = crawl.items()

    assert {forum.forum_id for page in pages for forum in page.forums} == {"1"}
    assert {post.forum_id for page in pages for post in page.posts} <= {"1", None}


def test_what_the_news_page_hides_is_found_by_the_board_and_counted(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)
    only(client, crawl, "news")
    crawl.forum.board("1", 1, "9 1 2026-01-01 10:00", "7 3", "8 0")

    assert only(client, crawl, "1") == ["/list/1/1", "/post/9"]
    assert Inspector(crawl.frontier).count_requests("demo").stats["news:missed"] == 1


def test_beside_a_news_page_boards_are_expected_to_find_little(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish(SITE)
    past = [f"{number} 1 2026-01-01 10:00" for number in range(10, 30)]
    for number in range(10, 30):
        crawl.forum.thread(str(number))
    crawl.forum.board("1", 1, *past)
    news(crawl)

    crawl.scan()

    items, hours, *_ = map(float, client.hget("test:s:demo:board:1", "history").split())
    assert (items, hours) == (0, 0)


def test_beside_a_news_page_the_goal_is_expected_to_be_met_and_boards_to_find_little(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    begun(crawl)
    for replies in range(4, 12):
        news(crawl, f"7 {replies}", "8 0")
        crawl.forum.board("1", 1, f"7 {replies}", "8 0")
        only(client, crawl, "news")
        only(client, crawl, "1")

    expected = take_snapshot(crawl.frontier, ["demo"]).sites[0].expected
    rates = {name: float(client.hget(f"test:s:demo:board:{name}", "history").split()[4]) for name in ("1", "news")}

    assert expected is not None
    assert expected.in_time >= 0.95
    assert rates["1"] < rates["news"] / 20


def test_the_news_page_has_its_interval_by_the_goal(crawl: SmallCrawl, client: redis.Redis) -> None:
    begun(crawl)

    assert int(client.hget("test:s:demo:board:news", "interval_ms")) == 15_000


@pytest.mark.parametrize(("read_ago_s", "counted"), [(30, 0), (90, 1)])
def test_a_reply_that_the_news_page_is_still_to_show_is_not_taken_for_hidden(
    crawl: SmallCrawl, client: redis.Redis, read_ago_s: int, counted: int
) -> None:
    begun(crawl)
    now_s = crawl.frontier.clock_ms() // 1000
    client.hset("test:s:demo", "news_at", (now_s - read_ago_s) * 1000)
    posted = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now_s - 20))
    crawl.forum.board("1", 1, f"9 1 {posted}", "7 3", "8 0")

    assert only(client, crawl, "1") == ["/list/1/1", "/post/9"]

    assert round(float(client.hget("test:s:demo:board:1", "history").split()[0])) == counted
    assert "news:missed" not in Inspector(crawl.frontier).count_requests("demo").stats


def test_in_the_first_hour_the_news_page_has_its_own_rate_and_boards_hide_nothing_yet(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    begun(crawl)
    for replies in range(4, 9):
        news(crawl, f"7 {replies}", "8 0")
        crawl.forum.board("1", 1, f"7 {replies}", "8 0")
        time.sleep(0.6)  # a board's last scan is kept to a third of a second
        only(client, crawl, "news")
    only(client, crawl, "1")

    items, hours, _, _, rate, *_ = map(float, client.hget("test:s:demo:board:news", "history").split())
    hidden = float(client.hget("test:s:demo:board:1", "history").split()[4])

    assert rate == pytest.approx(items / hours, rel=0.3)
    assert hidden < 0.001


def test_the_price_of_many_boards_that_hide_nothing_lets_them_wait(crawl: SmallCrawl, client: redis.Redis) -> None:
    boards = [str(number) for number in range(1, 31)]
    crawl.publish(SITE.replace("[1,", f"[{', '.join(boards)},"))
    for board in boards:
        crawl.forum.board(board, 1)
    news(crawl)
    crawl.scan()
    rates = [
        float(said.split()[4]) for board in boards if (said := client.hget(f"test:s:demo:board:{board}", "history"))
    ]
    crawl.client.hdel("test:s:demo", "scan_at")
    crawl.scan()

    assert len(rates) > 1
    assert max(rates) < 0.001
    # 30 boards and 100 requests a second: an equal share is a scan in 0.3 s.
    price = float(client.hget("test:s:demo", "pulse").split()[0])
    assert price > 1e-6 * 0.5 * (0.3 / 3600) ** 3.5


@pytest.mark.parametrize(("is_told", "is_shown"), [(True, b"1"), (False, None)])
def test_a_board_is_trusted_to_the_news_page_when_its_own_scan_meets_what_that_page_had_told(
    crawl: SmallCrawl, client: redis.Redis, *, is_told: bool, is_shown: bytes | None
) -> None:
    dates = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]
    crawl.publish(SITE)
    for number in ("7", "8", "9"):
        crawl.forum.thread(number)
    crawl.forum.board("1", 1, f"8 0 {dates[1]}", f"7 0 {dates[0]}")
    news(crawl, f"8 0 {dates[1]}", f"7 0 {dates[0]}")
    for _ in range(2):
        crawl.client.hdel("test:s:demo", "scan_at")
        crawl.scan()

    if is_told:
        news(crawl, f"9 0 {dates[2]}", f"8 0 {dates[1]}")
        only(client, crawl, "news")
    crawl.forum.board("1", 1, f"9 0 {dates[2]}", f"8 0 {dates[1]}", f"7 0 {dates[0]}")
    only(client, crawl, "1")

    assert client.hget("test:s:demo:board:1", "shown") == is_shown
