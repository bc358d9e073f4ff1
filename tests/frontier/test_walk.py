"""Walking a forum that moves, and whose pages do not say what there is: everything is read, and nothing loops."""

from __future__ import annotations

from collections import Counter

import pytest
import redis

from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Reach, Request, Stage
from tests.frontier.small_crawl import RULES, SmallCrawl

NEXT = "<a class=next>"
MANY_PAGES = 100
TITLED = (
    RULES.replace("title: .t,", "title: .t, url: {css: .t, attr: href},")
    .replace("/post/{post}\n", "/post/{post}\n  identity: '^/post/(?P<post>\\d+)(?:-[^/]*)?$'\n")
    .replace(
        "/comment/{post}/{page}\n", "/post/{post}/{page}\n  identity: '^/post/(?P<post>\\d+)[^/]*/(?P<page>\\d+)$'\n"
    )
)
CHAINED = RULES.replace("  pages: .pages", "  next: .next").replace("  empty: body\n", "  empty: body\n  next: .next\n")
FAN = RULES.replace("  next: .next\n", "  walk: fan\n  pages: .pages\n")


def lists(asked: list[str]) -> list[str]:
    return [path for path in asked if path.startswith("/list/")]


def write(crawl: SmallCrawl, *threads: int, size: int = 2) -> None:
    """Write board 1 anew, `size` threads a page, the newest first, and a page for each thread."""
    pages = [threads[start : start + size] for start in range(0, len(threads), size)]
    for path in [path for path in crawl.forum.pages if path.startswith("/list/")]:
        del crawl.forum.pages[path]
    for number, rows in enumerate(pages, 1):
        pager = f"<b class=pages>{len(pages)}</b>" + (NEXT if number < len(pages) else "")
        crawl.forum.board("1", number, *(f"{one} 0" for one in rows), more=pager)
    for one in threads:
        crawl.forum.thread(str(one))


def posts_asked(crawl: SmallCrawl) -> Counter[str]:
    return Counter(path for path in crawl.forum.asked if path.startswith("/post/"))


def once(*threads: int) -> Counter[str]:
    return Counter(f"/post/{one}" for one in threads)


def test_a_thread_bumped_past_the_walk_is_found_by_the_next_scan_and_one_seen_twice_is_asked_once(
    crawl: SmallCrawl,
) -> None:
    crawl.publish()
    write(crawl, 9, 8, 7, 6)
    crawl.forum.then["/list/1/1"] = lambda: write(crawl, 7, 9, 8, 6)
    crawl.scan()
    assert posts_asked(crawl) == once(9, 8, 6)

    crawl.scan()

    assert posts_asked(crawl) == once(9, 8, 6, 7)


@pytest.mark.parametrize(("rules", "third"), [(RULES, 1), (FAN, 3)])
def test_a_thread_that_slid_onto_a_page_already_read_is_found_by_the_next_scan(
    crawl: SmallCrawl, rules: str, third: int
) -> None:
    crawl.publish(rules=rules)
    write(crawl, 9, 8, 7, 6, 5, 4, 3)
    crawl.forum.then["/list/1/2"] = lambda: write(crawl, 8, 7, 6, 5, 4, 3)  # 9 is deleted, and all others move up
    crawl.scan()
    assert "/post/5" not in crawl.forum.asked

    crawl.scan()

    assert posts_asked(crawl) == once(9, 8, 7, 6, 5, 4, 3)
    assert len(crawl.scan()) == third


def test_a_scan_of_two_pages_is_not_walked_again(crawl: SmallCrawl) -> None:
    crawl.publish()
    write(crawl, 9, 8, 7, 6)
    assert lists(crawl.scan()) == ["/list/1/1", "/list/1/2"]

    assert crawl.scan() == ["/list/1/1"]


def test_a_walk_goes_on_when_a_whole_page_of_threads_was_bumped_between_two_requests(crawl: SmallCrawl) -> None:
    crawl.publish()
    write(crawl, 9, 8, 7, 6)
    crawl.forum.then["/list/1/1"] = lambda: write(crawl, 11, 10, 9, 8, 7, 6)

    asked = crawl.scan()

    assert lists(asked) == ["/list/1/1", "/list/1/2", "/list/1/3"]
    assert posts_asked(crawl) == once(9, 8, 7, 6)


def test_a_page_of_pinned_threads_without_news_does_not_end_the_walk(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("title: .t,", "title: .t, pinned: {css: .pin, attr: class},"))
    pinned = "<div class=row data-id=1><a class=t>rules</a><i class=n>0</i><i class=pin></i></div>"
    write(crawl, 1, 9, size=1)
    crawl.forum.pages["/list/1/1"] = pinned + NEXT
    crawl.scan()

    write(crawl, 1, 10, 9, size=1)
    crawl.forum.pages["/list/1/1"] = pinned + NEXT

    assert crawl.scan() == ["/list/1/1", "/list/1/2", "/list/1/3", "/post/10"]
    assert crawl.scan() == ["/list/1/1", "/list/1/2"]


@pytest.mark.parametrize(("pages", "last"), [(0, 6), (3, 3)])
def test_a_walk_that_a_person_asked_for_goes_to_the_end_of_a_known_board_or_as_far_as_was_said(
    crawl: SmallCrawl, pages: int, last: int
) -> None:
    crawl.publish()
    for number in range(1, 7):
        crawl.forum.thread(str(number))
        crawl.forum.board("1", number, f"{number} 0", more=f"<a class=next href=/list/1/{number + 1}>" * (number < 6))
    while len(crawl.scan()) > 1:
        pass

    address = crawl.forum.url + "/list/1/1"
    crawl.frontier.admit("demo", [Request("demo", Stage.LIST, "1", address, 1, "seed1", 2, reach=Reach(pages=pages))])

    assert crawl.work() == [f"/list/1/{number}" for number in range(1, last + 1)]


def test_the_row_of_a_thread_that_was_moved_leads_to_it_once(crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1, 2]\n")
    crawl.forum.board("1", 1, "7 0", "8 0")
    crawl.forum.board("2", 1, "9 0")
    crawl.forum.moved["/post/7"] = "/post/9"
    for number in ("8", "9"):
        crawl.forum.thread(number)

    crawl.scan()

    assert [one.post_id for page in crawl.items() for one in page.posts if one.body] == ["8", "9"]
    assert crawl.scan() == ["/list/1/1", "/list/2/1"]


@pytest.mark.parametrize("guard", ["exact", "'off'"])
@pytest.mark.parametrize("shown", [1, 2])
def test_a_forum_that_answers_with_a_page_it_has_whatever_is_asked_for_is_found_out(
    crawl: SmallCrawl, guard: str, shown: int
) -> None:
    crawl.publish(f"boards: [1]\ninterval: {{full_pass_s: 86400}}\nguard: {{post: {guard}}}\n")
    write(crawl, 9, 8, 7, 6)
    crawl.forum.pages["/list/1/2"] += NEXT
    for beyond in range(3, MANY_PAGES):
        crawl.forum.pages[f"/list/1/{beyond}"] = crawl.forum.pages[f"/list/1/{shown}"]

    walked = lists(crawl.scan())
    passed = lists(crawl.full_pass())

    assert len(walked) <= (4 if shown == 2 else 5)
    assert len(passed) <= 5
    assert len(set(walked)) == len(walked)
    assert set(posts_asked(crawl)) == set(once(9, 8, 7, 6))


def test_comments_that_come_again_on_the_next_page_end_the_thread(crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1]\ninterval: {full_pass_s: 86400}\n", CHAINED)
    write(crawl, 7)
    crawl.forum.thread("7", "a one", more=NEXT)
    for page in range(2, MANY_PAGES):
        crawl.forum.pages[f"/comment/7/{page}"] = "<div class=c data-id=b><p class=say>two</div>" + NEXT

    first = crawl.scan()
    passed = crawl.full_pass()

    assert first == ["/list/1/1", "/post/7", "/comment/7/2", "/comment/7/3"]
    assert passed == first


@pytest.mark.parametrize("answer", [None, f"<p>no threads{NEXT}", "<p class=nothing>", f"<p class=nothing>{NEXT}"])
def test_a_last_page_that_the_pager_promised_and_is_not_there_ends_the_walk(
    crawl: SmallCrawl, answer: str | None
) -> None:
    crawl.publish("boards: [1]\ninterval: {full_pass_s: 86400}\nguard: {post: 'off'}\n")
    write(crawl, 9, 8)
    crawl.forum.pages["/list/1/1"] += NEXT
    if answer is not None:
        crawl.forum.pages |= {f"/list/1/{page}": answer for page in range(2, MANY_PAGES)}

    assert lists(crawl.scan()) == ["/list/1/1", "/list/1/2"]
    assert lists(crawl.full_pass()) == ["/list/1/1", "/list/1/2"]

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.dead, counts.parked, counts.open) == (0, 0, 0)


@pytest.mark.parametrize(
    "link", ["/list/2/2", "/list/2/1", "http://127.0.0.2:1/list/1/2", "//elsewhere.example/list/1/2"]
)
@pytest.mark.parametrize("has_template", [True, False])
def test_a_pager_that_leads_elsewhere_is_not_followed(crawl: SmallCrawl, link: str, *, has_template: bool) -> None:
    by_link = RULES.replace(
        "/list/{board}/{page}", "/list/{board}/1\n  identity: /list/(?P<board>\\d+)/(?P<page>\\d+)$"
    )
    by_link = by_link.replace("next: .next", "next: {css: .next, attr: href, as: url}")
    crawl.publish(rules=RULES if has_template else by_link)
    write(crawl, 9)
    crawl.forum.pages["/list/1/1"] += f"<a class=next href={link}>"
    crawl.forum.pages["/list/2/2"] = crawl.forum.pages["/list/1/2"] = "<p class=nothing>"

    assert crawl.scan() == ["/list/1/1", "/post/9"]


@pytest.mark.parametrize("link", ["/list/1/2", "./2", "#", "javascript:next()", ""])
def test_a_pager_that_leads_on_or_says_nothing_is_followed(crawl: SmallCrawl, link: str) -> None:
    crawl.publish()
    write(crawl, 9, 8, 7)
    crawl.forum.pages["/list/1/1"] = crawl.forum.pages["/list/1/1"].replace(NEXT, f"<a class=next href='{link}'>")

    assert lists(crawl.scan()) == ["/list/1/1", "/list/1/2"]


def test_a_pager_of_another_thread_is_not_followed(crawl: SmallCrawl) -> None:
    crawl.publish(rules=CHAINED)
    write(crawl, 7)
    crawl.forum.thread("7", "a one", more="<a class=next href=/comment/8/2>next thread</a>")

    assert crawl.scan() == ["/list/1/1", "/post/7"]


def test_a_page_that_says_with_status_200_that_it_is_not_there_is_gone(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("  fields: {", "  gone_when: .sorry\n  fields: {"))
    write(crawl, 9, 8, 7)
    crawl.forum.pages["/post/8"] = crawl.forum.pages["/list/1/2"] = "<p class=sorry>no such page"

    crawl.scan()

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.dead, counts.parked, counts.count("gone:list"), counts.count("gone:post")) == (0, 0, 1, 1)
    assert [one.post_id for page in crawl.items() for one in page.posts if one.state == "deleted"] == ["8"]
    assert crawl.scan() == ["/list/1/1", "/post/8"]  # a thread that is listed may be back, and is no news


def test_a_wall_before_later_list_pages_ends_the_walk_and_holds_up_no_scan(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("  fields: {", "  login_when: .login\n  fields: {", 1))
    write(crawl, 9, 8, 7)
    crawl.forum.pages["/list/1/2"] = "<form class=login>"
    crawl.scan()
    crawl.forum.board("1", 1, "10 0", "9 0", more=NEXT)
    crawl.forum.thread("10")

    second = crawl.scan()

    assert second == ["/list/1/1", "/list/1/2", "/post/10"]
    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.parked, counts.dead, counts.count("gone:list")) == (0, 0, 2)


def test_a_wall_before_a_board_parks_its_scan_for_a_person_to_see(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("  fields: {", "  login_when: .login\n  fields: {", 1))
    crawl.forum.pages["/list/1/1"] = "<form class=login>"

    crawl.scan()

    assert Inspector(crawl.frontier).count_requests("demo").parked == 1
    assert crawl.scan() == []


def test_rows_of_deleted_threads_are_left_out_or_marked_and_asked_for_ever_more_seldom(crawl: SmallCrawl) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "9 0", "8 0", more="<div class=row><a class=t>this topic was deleted</a></div>")
    crawl.forum.thread("9")
    first = crawl.scan()

    again = [len(crawl.scan()) - 1 for _ in range(20)]

    assert first == ["/list/1/1", "/post/9", "/post/8"]
    assert again == [1, 0, 1, 0, 0, 0, 1, *[0] * 7, 1, *[0] * 5]
    rows = {(one.post_id, one.state) for page in crawl.items() for one in page.posts}
    assert rows == {("9", None), ("9", "normal"), ("8", None), ("8", "deleted")}


@pytest.mark.parametrize("rules", [RULES, FAN])
def test_an_endless_list_ends_at_its_limit_and_that_is_counted(crawl: SmallCrawl, rules: str) -> None:
    crawl.publish(rules=rules.replace("list:\n", "list:\n  max_pages: 5\n"))
    write(crawl, *range(MANY_PAGES, 0, -1), size=1)

    asked = crawl.scan()

    assert sorted(lists(asked)) == [f"/list/1/{page}" for page in range(1, 6)]
    assert Inspector(crawl.frontier).count_requests("demo").count("cut:list") == 1


def test_an_endless_thread_ends_at_its_limit_and_that_is_counted(crawl: SmallCrawl) -> None:
    crawl.publish(rules=CHAINED.replace("comment:\n", "comment:\n  max_pages: 5\n"))
    write(crawl, 7)
    crawl.forum.thread("7", "a one", more=NEXT)
    for page in range(2, MANY_PAGES):
        crawl.forum.pages[f"/comment/7/{page}"] = f"<div class=c data-id=c{page}><p class=say>x</div>{NEXT}"

    asked = crawl.scan()

    assert asked == ["/list/1/1", "/post/7", *(f"/comment/7/{page}" for page in range(2, 6))]
    assert Inspector(crawl.frontier).count_requests("demo").count(f"cut:{Stage.COMMENT.value}") == 1


@pytest.mark.parametrize("rules", [RULES, FAN])
def test_a_walk_that_the_daily_cap_cuts_short_goes_to_its_end_on_a_later_day(
    crawl: SmallCrawl, client: redis.Redis, rules: str
) -> None:
    crawl.publish(rules=rules.replace("gate: {", "gate: {daily_new: 6, "))
    write(crawl, *range(29, 9, -1))
    crawl.scan()
    same_day = (crawl.scan(), crawl.scan())
    days = 1
    while len(posts_asked(crawl)) < 20 and days < 20:
        client.hdel("test:s:demo", "found")
        crawl.scan()
        days += 1

    assert rules is FAN or same_day == (["/list/1/1"], ["/list/1/1"])
    assert posts_asked(crawl) == once(*range(10, 30))
    client.hdel("test:s:demo", "found")
    crawl.scan()
    assert crawl.scan() == (["/list/1/1"] if rules is RULES else [f"/list/1/{page}" for page in range(1, 11)])


def test_a_walk_for_which_history_has_no_room_today_is_made_on_a_later_day(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1, 2]\n", RULES.replace("gate: {", "gate: {daily_new: 48, "))
    for newest in (29, 30, 31):
        write(crawl, *range(newest, 9, -1))
        crawl.forum.board("2", 1)
        crawl.scan()
    crawl.forum.board("2", 1, "1 0", "2 0")
    crawl.scan()  # 24 threads were found today
    write(crawl, *range(32, 9, -1))
    assert sorted(lists(crawl.scan())) == ["/list/1/1", "/list/2/1"]

    client.hdel("test:s:demo", "found")
    assert set(lists(crawl.scan())) == {"/list/2/1", *(f"/list/1/{page}" for page in range(1, 13))}


def test_history_leaves_half_of_the_daily_cap_to_news(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("gate: {", "gate: {daily_new: 8, "))
    write(crawl, *range(29, 9, -1))
    crawl.scan()
    before = posts_asked(crawl)
    write(crawl, *range(31, 9, -1))
    crawl.scan()

    assert (before, posts_asked(crawl) - before) == (once(29, 28, 27, 26), once(31, 30))


def test_the_daily_cap_leaves_out_no_page_of_a_thread_that_was_let_in(crawl: SmallCrawl) -> None:
    crawl.publish(rules=CHAINED.replace("gate: {", "gate: {daily_new: 1, "))
    crawl.forum.board("1", 1, "7 3")
    crawl.forum.thread("7", "a one", more=NEXT)
    for page in (2, 3):
        crawl.forum.pages[f"/comment/7/{page}"] = f"<p class=c data-id={page}>" + NEXT * (page == 2)

    assert crawl.scan() == ["/list/1/1", "/post/7", "/comment/7/2", "/comment/7/3"]


def test_a_later_page_that_leads_where_robots_keeps_us_out_does_not_exist(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("robots: false\n", ""))
    crawl.forum.pages["/robots.txt"] = "User-agent: *\nDisallow: /redirect"
    crawl.forum.board("1", 1, "7 9")
    crawl.forum.thread("7", "c1 one", more="<i class=pages>3</i>")
    crawl.forum.pages["/comment/7/2"] = "<div class=c data-id=c2><p class=say>two</div>"
    crawl.forum.moved["/comment/7/3"] = "/redirect?goto=lastpost"

    crawl.scan()

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.dead, counts.done, counts.count("gone:comment")) == (0, 4, 1)
    assert "/redirect?goto=lastpost" not in crawl.forum.asked


def test_a_thread_that_leads_where_robots_keeps_us_out_is_not_taken_for_deleted(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("robots: false\n", ""))
    crawl.forum.pages["/robots.txt"] = "User-agent: *\nDisallow: /login"
    crawl.forum.board("1", 1, "7 9")
    crawl.forum.moved["/post/7"] = "/login"

    crawl.scan()

    assert Inspector(crawl.frontier).count_requests("demo").dead == 1
    assert [post.state for page in crawl.items() for post in page.posts] == [None]


def test_a_link_to_a_reply_that_is_gone_leaves_no_post_under_a_made_up_id(crawl: SmallCrawl) -> None:
    identity = "  identity: ['/post/(?P<post>\\d+)$', '/goto/(?P<post>p=\\d+)$']\n  address: /post/{post}"
    crawl.publish(
        "boards: [{id: front, kind: hub, address: /front}]\n", RULES.replace("  address: /post/{post}", identity)
    )
    crawl.forum.pages["/front"] = "<a href=/goto/p=99>reply</a><a href=/post/7>topic</a>"

    crawl.scan()

    assert sorted(crawl.forum.asked) == ["/front", "/goto/p=99", "/post/7"]
    assert {(post.post_id, post.state) for page in crawl.items() for post in page.posts} == {
        ("7", None),
        ("7", "deleted"),
    }


def test_an_address_with_a_title_in_it_takes_one_request_a_page(crawl: SmallCrawl) -> None:
    crawl.publish(rules=TITLED)
    links = {"7": "/post/7-one", "8": "", "9": "/post/7-one", "10": "http://elsewhere.example/post/10"}
    rows = (f"<p class=row data-id={key}><a class=t href='{link}'>t</a><i class=n>1</i>" for key, link in links.items())
    crawl.forum.pages["/list/1/1"] = "".join(rows)
    for key, name in (("7", "7-one"), ("8", "8-two"), ("9", "9"), ("10", "10")):
        crawl.forum.thread(name, "a one", more="<b class=pages>2</b>" if "-" in name else "")
        crawl.forum.pages[f"/post/{name}/2"] = "<p class=c data-id=b>"
        if name != key:
            crawl.forum.moved |= {f"/post/{key}": f"/post/{name}", f"/post/{key}/2": f"/post/{name}/2"}

    asked = crawl.scan()

    by_template = ["/post/8", "/post/8-two", "/post/9", "/post/10"]
    assert asked == ["/list/1/1", "/post/7-one", *by_template, "/post/7-one/2", "/post/8-two/2"]
