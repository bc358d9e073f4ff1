"""A running crawl says when a site's pages contradict each other, and says nothing of a forum that only lives."""

from __future__ import annotations

import time

import pytest
import redis

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model.own_counters import take_counted
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.site_snapshot import MISMATCH_MS
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.parse.pagination import LEADS_BACK
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.worker import page_validation
from crawl_tasks.worker.page_task import PageTask
from tests.frontier.small_crawl import RULES, SmallCrawl

THREADS = [str(number) for number in range(10, 34)]
REPLIES = 6


def said(frontier: Frontier) -> str:
    """Return the contradiction that `status` and the alerts show, empty without one."""
    snapshot = take_snapshot(frontier)
    [site] = snapshot.sites
    problems = {one.name: one for one in CurrentProblems(snapshot).of(site)}
    assert ("CrawlMismatch" in problems) == bool(site.mismatch(snapshot.at_ms))
    return site.mismatch(snapshot.at_ms)


def fill(crawl: SmallCrawl, replies: int, record: str = "class=c", body: str = "") -> None:
    """Write a board of threads with so many replies each, in markup that the rules may not know."""
    links = "".join(f"<a href=/post/{post}>post {post}</a>" for post in THREADS)
    crawl.forum.board("1", 1, *(f"{post} {replies}" for post in THREADS), more=links)
    for post in THREADS:
        texts = (f"{post}{turn} reply {turn} of {replies}" for turn in range(replies))
        crawl.forum.thread(post, *texts, body=body or f"the text of thread {post} alone")
        crawl.forum.pages[f"/post/{post}"] = str(crawl.forum.pages[f"/post/{post}"]).replace("class=c ", f"{record} ")


def shown(crawl: SmallCrawl, replies: int, **changed: str) -> str:
    """Change the forum, scan it, and return what is said then."""
    fill(crawl, replies, **changed)
    crawl.scan()
    return said(crawl.frontier)


def test_a_template_that_changes_is_told_within_two_dozen_pages_and_until_it_is_mended(crawl: SmallCrawl) -> None:
    crawl.publish()

    assert shown(crawl, REPLIES) == ""
    told = shown(crawl, REPLIES + 1, record="class=other")
    assert f"{REPLIES + 1} replies in the list, 0 read on {crawl.forum.url}/post/" in told
    assert shown(crawl, REPLIES + 2) == ""


@pytest.mark.parametrize("mended", [page_validation.ENDS_AFTER - 1, page_validation.ENDS_AFTER])
def test_a_contradiction_ends_with_eight_fitting_pages_in_a_row(crawl: SmallCrawl, mended: int) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    assert shown(crawl, REPLIES + 1, body="Please log in to read the whole discussion.") != ""

    fill(crawl, REPLIES + 2)
    counts = (f"{post} {REPLIES + (2 if number < mended else 1)}" for number, post in enumerate(THREADS))
    crawl.forum.board("1", 1, *counts)
    crawl.scan()

    assert (said(crawl.frontier) == "") == (mended == page_validation.ENDS_AFTER)


def test_a_worker_that_takes_over_ends_a_contradiction_that_one_before_it_noted(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    assert shown(crawl, REPLIES + 1, record="class=other") != ""

    crawl.pages = PageTask(crawl.frontier, SiteRegistry(crawl.frontier, None), Fetcher(build_client("requests")))

    assert shown(crawl, REPLIES + 2) == ""


def test_one_text_in_all_threads_is_told(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)

    assert "the text of post" in shown(crawl, REPLIES + 1, body="Please log in to read the whole discussion.")


def test_posts_without_words_are_told_but_where_the_site_file_expects_them(crawl: SmallCrawl) -> None:
    rule = "body: .body"
    assert rule in RULES
    crawl.publish()
    shown(crawl, REPLIES)

    assert "has no words: if many posts are pictures" in shown(crawl, REPLIES + 1, body="<img src=/shell.gif>")
    crawl.publish(rules=RULES.replace(rule, "body: {css: .body, required: false}"))
    assert shown(crawl, REPLIES + 2, body="<img src=/shell.gif>") == ""


def test_a_board_without_rows_on_a_page_with_threads_is_told(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    crawl.forum.pages["/list/1/1"] = str(crawl.forum.pages["/list/1/1"]).replace("class=row", "class=line")
    crawl.forum.pages["/list/1/1"] = f"{crawl.forum.pages['/list/1/1']}<p class=nothing>"
    for _ in range(page_validation.LEAST):
        crawl.scan()

    assert f"/list/1/1 has no rows, and links {len(THREADS)} threads" in said(crawl.frontier)


def replied(crawl: SmallCrawl, ages_s: list[int], ahead_s: int = 0) -> str:
    """Show boards, each with one reply of so many seconds ago, by a clock that is ahead, and return what is said."""
    crawl.publish(f"boards: [{', '.join(map(str, range(1, len(ages_s) + 1)))}]\n")
    for board, age_s in enumerate(ages_s, 1):
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - age_s + ahead_s))
        crawl.forum.board(str(board), 1, f"{board} 1 {at}")
        crawl.forum.thread(str(board), f"c{board} said")
    crawl.scan()
    return said(crawl.frontier)


@pytest.mark.parametrize("ahead_s", [3600, 8 * 3600, 14 * 3600])
def test_a_zone_that_lies_west_of_the_forums_is_told(crawl: SmallCrawl, ahead_s: int) -> None:
    """The forum of summer time, for one, whose site file was written in winter."""
    told = replied(crawl, [60 * age for age in range(1, 9)], ahead_s)

    assert f" min ahead on {crawl.forum.url}/list/" in told
    assert told.endswith(f": the forum's zone lies {ahead_s / 3600:g} h east of timezone, or more")


@pytest.mark.parametrize(
    ("ages_s", "ahead_s"),
    [
        ([60 * age for age in range(1, 9)], 0),
        ([60 * age for age in range(1, 9)], 300),  # the forum's clock is wrong
        ([10 * 3600] * 8, 8 * 3600),  # nothing was posted lately
        ([60, *[3700] * 8], 3600),
        ([60 * age for age in range(1, 9)], 20 * 3600),  # dates of events
    ],
)
def test_times_of_another_kind_say_nothing_of_the_zone(crawl: SmallCrawl, ages_s: list[int], ahead_s: int) -> None:
    assert replied(crawl, ages_s, ahead_s) == ""


def test_times_to_come_are_told(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("say}", "say, created_at: .when}"))
    ahead = f"<i class=when>{time.strftime('%Y-%m-%d', time.gmtime(time.time() + 3 * 86_400))}</i><b class=who>"
    fill(crawl, REPLIES)
    for post in THREADS:
        crawl.forum.pages[f"/post/{post}"] = str(crawl.forum.pages[f"/post/{post}"]).replace("<b class=who>", ahead)
    crawl.scan()

    assert f"{REPLIES} of {REPLIES} times in the future on " in said(crawl.frontier)


OPEN = "dates are left open: day or month may stand first in '05-04-2012': set date_order (dmy or mdy), or format"
UNREAD = "records have no created_at: no date is read in '5. siječnja 2023.': set format"


@pytest.mark.parametrize(
    ("day", "note"), [("05-04-2012", OPEN), ("29-04-2012", ""), ("5. siječnja 2023.", UNREAD), ("soon", "")]
)
def test_dates_that_are_left_open_are_told_with_the_remedy(crawl: SmallCrawl, day: str, note: str) -> None:
    crawl.publish(rules=RULES.replace("say}", "say, created_at: .when}"))
    fill(crawl, REPLIES)
    for post in THREADS:
        dated = str(crawl.forum.pages[f"/post/{post}"]).replace(
            "<b class=who>", f"<i class=when>{day}</i><b class=who>"
        )
        crawl.forum.pages[f"/post/{post}"] = dated
    crawl.scan()

    told = said(crawl.frontier)
    assert note in told
    assert bool(told) is bool(note)


def test_a_field_that_vanishes_is_told_and_one_that_never_was_there_is_not(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("say}", "say, created_at: .when}"))
    assert shown(crawl, REPLIES) == ""
    fill(crawl, REPLIES + 1)
    for post in THREADS:
        crawl.forum.pages[f"/post/{post}"] = str(crawl.forum.pages[f"/post/{post}"]).replace("<b class=who>", "<b>")
    crawl.scan()

    assert "no comment.author on" in said(crawl.frontier)


@pytest.mark.parametrize("way", ["?page=2", "/2"])
def test_pages_of_threads_that_no_rule_finds_are_told(crawl: SmallCrawl, way: str) -> None:
    crawl.publish()
    fill(crawl, 3)
    for post in THREADS[::2]:
        page = f"{crawl.forum.pages[f'/post/{post}']}<nav><b>1</b> <a href=/post/{post}{way}>2</a></nav>"
        crawl.forum.pages[f"/post/{post}"] = page
    crawl.scan()

    assert f"{way} is linked on {crawl.forum.url}/post/" in said(crawl.frontier)
    for post in THREADS[::2]:
        page = str(crawl.forum.pages[f"/post/{post}"])
        crawl.forum.pages[f"/post/{post}"] = f"{page}<i class=pages>2</i>"
        crawl.forum.pages[f"/comment/{post}/2"] = f"<div class=c data-id={post}9><p class=say>late in {post}</div>"
    crawl.forum.board("1", 1, *(f"{post} 4" for post in THREADS))
    crawl.scan()
    assert said(crawl.frontier) == ""


@pytest.mark.parametrize(("long", "is_told"), [(1, False), (2, True)])
def test_two_long_threads_are_enough_where_no_rule_found_any(crawl: SmallCrawl, long: int, is_told: bool) -> None:
    crawl.publish()
    fill(crawl, 3)
    # The first pages are looked through, and later ones now and then.
    for post in THREADS[:long]:
        crawl.forum.pages[f"/post/{post}"] = f"{crawl.forum.pages[f'/post/{post}']}<a href=/post/{post}?page=2>2</a>"
    crawl.forum.board("1", 1, *(f"{post} 3" for post in THREADS[:18]))
    crawl.scan()

    assert ("2 of the last 2 pages" in said(crawl.frontier)) is is_told


def test_numbers_of_replies_are_no_pages(crawl: SmallCrawl) -> None:
    crawl.publish()
    fill(crawl, 3)
    for post in THREADS:
        page = str(crawl.forum.pages[f"/post/{post}"])
        crawl.forum.pages[f"/post/{post}"] = page.replace("<b class=who>", f"<a href=/post/{post}/2>2</a><b class=who>")
    crawl.scan()

    assert said(crawl.frontier) == ""


@pytest.mark.parametrize("most", ["max_pages: 1", "max_pages: 9"])
def test_pages_that_the_site_file_leaves_out_are_not_told(crawl: SmallCrawl, most: str) -> None:
    crawl.publish(
        rules=RULES.replace("  pages: .pages", "  next: .next").replace("  first_page: 2", f"  first_page: 2\n  {most}")
    )
    fill(crawl, 3)
    for post in THREADS:
        page = f"{crawl.forum.pages[f'/post/{post}']}<a class=next href=/post/{post}?page=2>2</a>"
        crawl.forum.pages[f"/post/{post}"] = page
        crawl.forum.pages[f"/comment/{post}/2"] = f"<div class=c data-id={post}9><p class=say>late in {post}</div>"
    crawl.scan()

    assert said(crawl.frontier) == ""
    assert any("/comment/" in path for path in crawl.forum.asked) is (most != "max_pages: 1")


def test_a_second_page_of_boards_that_no_rule_finds_is_told(crawl: SmallCrawl) -> None:
    boards = [str(number) for number in range(1, page_validation.LEAST + 1)]
    crawl.publish(f"boards: [{', '.join(boards)}]\n")
    for board in boards:
        crawl.forum.board(board, 1, f"{board}0 1", more=f"<a href='/list/{board}/1?from=20'>further threads</a>")
        crawl.forum.thread(f"{board}0", f"{board}1 one reply to {board}")
    crawl.scan()

    assert "?from=20 is linked on " in said(crawl.frontier)


def test_a_forum_that_deletes_edits_moves_and_hides_is_not_told(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    for turn in range(1, 5):
        fill(crawl, REPLIES + turn, body="" if turn % 2 else "edited, as a text of its own is no more")
        for post in THREADS:
            crawl.forum.pages[f"/post/{post}"] = f"{crawl.forum.pages[f'/post/{post}']}<i>{post} {turn}</i>"
        hidden, lost, moved = THREADS[turn : turn + 4], THREADS[8], THREADS[9]
        for post in hidden:
            crawl.forum.thread(post, body=f"the replies of {post} are for members")
        crawl.forum.thread(THREADS[turn + 5], "991 the others were deleted", body=f"thread {turn} has lost its replies")
        del crawl.forum.pages[f"/post/{lost}"]
        crawl.forum.moved[f"/post/{moved}"] = f"/post/{THREADS[10]}"
        for post in THREADS:
            if f"/post/{post}" in crawl.forum.pages and post not in hidden:
                text = f"thread {post}, edited for the time {turn}"
                crawl.forum.pages[f"/post/{post}"] = str(crawl.forum.pages[f"/post/{post}"]).replace(
                    "edited, as a text of its own is no more", text
                )
        crawl.scan()

        assert said(crawl.frontier) == ""


def test_a_note_that_nobody_renews_runs_out_and_redis_may_lose_it(crawl: SmallCrawl, client: redis.Redis) -> None:
    crawl.publish()
    crawl.frontier.sites.note_validation("demo", "5 of the last 5 pages, as no author on /post/1")
    begun = said(crawl.frontier)
    client.hset("test:s:demo", "mismatch", f"{int(time.time() * 1000) - MISMATCH_MS - 1000} 5 of the last 5")

    assert begun == "5 of the last 5 pages, as no author on /post/1"
    assert said(crawl.frontier) == ""
    crawl.frontier.sites.note_validation("demo", "")
    assert not client.hexists("test:s:demo", "mismatch")
    crawl.frontier.sites.note_validation("unknown", "a site that was removed contradicts nothing")
    assert not client.exists("test:s:unknown")


@pytest.mark.parametrize("times", [1, page_validation.LEAST - 1])
def test_few_contradictions_are_no_news(crawl: SmallCrawl, times: int) -> None:
    crawl.publish()
    fill(crawl, REPLIES)
    for post in THREADS[:times]:
        crawl.forum.thread(post, body=f"nothing is left of {post}, not a reply")
    crawl.forum.board("1", 1, *(f"{post} {REPLIES}" for post in THREADS[:times]))
    crawl.scan()

    assert said(crawl.frontier) == ""


def test_characters_that_cannot_be_read_are_told_with_the_remedy(crawl: SmallCrawl) -> None:
    crawl.publish()
    for more, broken in ((0, b"reply"), (1, b"r\xe9ply")):
        fill(crawl, REPLIES + more)
        for post in THREADS:
            page = str(crawl.forum.pages[f"/post/{post}"]).replace(" of ", " für größere ").encode()
            crawl.forum.pages[f"/post/{post}"] = page.replace(b"reply 3", broken + b" 3")
        crawl.scan()
        told = said(crawl.frontier)
        assert bool(told) == bool(more)

    assert f"1 of {REPLIES + 2} texts have characters that could not be read (U+FFFD)" in told
    assert "set `encoding` in the site file" in told
    assert take_counted()["demo"]["undecoded_texts"] >= page_validation.LEAST


@pytest.mark.parametrize(("threads", "is_told"), [(4, True), (0, False)])
def test_replies_of_a_few_threads_that_have_no_id_are_told(crawl: SmallCrawl, threads: int, is_told: bool) -> None:
    crawl.publish()
    fill(crawl, REPLIES)
    for post in THREADS[-threads:] if threads else ():
        page = str(crawl.forum.pages[f"/post/{post}"])
        crawl.forum.pages[f"/post/{post}"] = page.replace("class=c data-id=", "class=c data-nr=", REPLIES // 2)

    crawl.scan()

    assert ("3 of 6 records without comment_id were left out on" in said(crawl.frontier)) == is_told


@pytest.mark.parametrize(("record", "is_told"), [("'.row[class=row]'", True), (".row:not(.hot)", False)])
def test_rows_that_the_rule_for_records_leaves_out_are_told_unless_it_names_them(
    crawl: SmallCrawl, record: str, *, is_told: bool
) -> None:
    crawl.publish(rules=RULES.replace("record: .row", f"record: {record}"))
    fill(crawl, REPLIES)
    page = str(crawl.forum.pages["/list/1/1"]).replace("class=row", "class='row hot'", 3)
    for _ in range(2):
        crawl.forum.pages["/list/1/1"] = page
        crawl.scan()

    words = f"3 of {len(THREADS)} are read as the records beside, and `record` leaves them out"
    assert (words in said(crawl.frontier)) is is_told


def test_a_footer_in_the_last_reply_of_each_page_is_told(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    fill(crawl, REPLIES + 1)
    for post in THREADS:
        before, _, behind = str(crawl.forum.pages[f"/post/{post}"]).rpartition("</div>")
        footer = f"<br>Powered by Forum 1.2, made in 0.{post} s</div>"
        crawl.forum.pages[f"/post/{post}"] = f"{before}{footer}{behind}"
    crawl.scan()

    assert "ends the last text of post" in said(crawl.frontier)


def test_threads_whose_next_page_leads_back_are_told_and_the_walk_ends(crawl: SmallCrawl) -> None:
    link = "next: {css: a.on, attr: href, as: url}"
    rules = RULES.replace("pages: .pages", f"identity: '^/post/(?P<post>\\d+)$'\n  {link}")
    crawl.publish(rules=rules.replace("  address: /comment/{post}/{page}\n", f"  {link}\n"))
    fill(crawl, REPLIES)
    for post in THREADS:
        first = str(crawl.forum.pages[f"/post/{post}"])
        crawl.forum.pages[f"/post/{post}"] = f"{first}<a class=on href=/post/{post}?p=2>on</a>"
        crawl.forum.pages[f"/post/{post}?p=1"] = crawl.forum.pages[f"/post/{post}"]
        second = f"<div class=c data-id={post}9><p class=say>the last</div><a class=on href=/post/{post}?p=1>on</a>"
        crawl.forum.pages[f"/post/{post}?p=2"] = second

    crawl.scan()

    assert len(crawl.forum.asked) <= 1 + 3 * len(THREADS)
    told = said(crawl.frontier)
    assert f"page 3 shows what page 1 showed: {LEADS_BACK}; {crawl.forum.url}/post/" in told


def dated(crawl: SmallCrawl, replied: str, edited: str = "") -> str:
    """Scan threads of 2011 whose replies have a time, and perhaps an edit's. Return what is said then."""
    times = {
        "title: h1, body": "title: h1, created_at: .began, body",
        "say}": "say, created_at: .at, edited_at: .edit}",
    }
    rules = RULES
    for old, new in times.items():
        assert old in rules
        rules = rules.replace(old, new)
    crawl.publish(rules=rules)
    fill(crawl, REPLIES)
    shown = f"<i class=at>{replied}</i><i class=edit>{edited}</i><b class=who>"
    for post in THREADS:
        page = str(crawl.forum.pages[f"/post/{post}"]).replace("<b class=who>", shown)
        crawl.forum.pages[f"/post/{post}"] = page.replace("<h1>", "<i class=began>2011-04-11</i><h1>")
    crawl.scan()
    return said(crawl.frontier)


@pytest.mark.parametrize(("replied", "is_told"), [("2020-04-11", True), ("2011-09-11", False)])
def test_posts_that_are_years_older_than_all_their_replies_are_told(
    crawl: SmallCrawl, replied: str, is_told: bool
) -> None:
    assert ("a post more than a year older than all its replies on http" in dated(crawl, replied)) is is_told


@pytest.mark.parametrize(("edited", "is_told"), [("2010-04-11", True), ("2012-01-01", False), ("", False)])
def test_edits_before_the_writing_are_told(crawl: SmallCrawl, edited: str, is_told: bool) -> None:
    assert (f"{REPLIES} of {REPLIES} edits before the writing on http" in dated(crawl, "2011-09-11", edited)) is is_told


def test_listed_threads_that_are_gone_are_told_until_they_are_there_again(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    fill(crawl, REPLIES + 1)
    gone = [f"/post/{post}" for post in THREADS[::2]]
    crawl.forum.statuses |= dict.fromkeys(gone, 404)

    crawl.scan()

    assert "is listed, and gone" in said(crawl.frontier)
    crawl.forum.statuses.clear()
    for more in range(2, 4):
        fill(crawl, REPLIES + more)
        crawl.scan()
    assert said(crawl.frontier) == ""


def test_listed_threads_of_one_board_that_are_gone_are_told_though_those_of_others_are_read(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    fill(crawl, REPLIES + 1)
    crawl.forum.statuses |= dict.fromkeys((f"/post/{post}" for post in THREADS[:6]), 404)
    crawl.scan()

    for more in range(2, 5):
        fill(crawl, REPLIES + more)
        crawl.scan()

    assert "is listed, and gone" in said(crawl.frontier)


def test_a_few_deleted_threads_among_few_others_are_not_told(crawl: SmallCrawl) -> None:
    """As on a forum that lists what it has deleted, where a scan finds little else that is new."""
    crawl.publish()
    fill(crawl, REPLIES)
    crawl.forum.board("1", 1, *(f"{post} {REPLIES}" for post in THREADS[:14]))
    crawl.forum.statuses |= dict.fromkeys((f"/post/{post}" for post in THREADS[:5]), 404)

    crawl.scan()

    assert said(crawl.frontier) == ""


def test_a_few_listed_threads_that_are_deleted_meanwhile_are_not_told(crawl: SmallCrawl) -> None:
    crawl.publish()
    shown(crawl, REPLIES)
    fill(crawl, REPLIES + 1)
    crawl.forum.statuses |= dict.fromkeys((f"/post/{post}" for post in THREADS[:4]), 404)

    crawl.scan()

    assert said(crawl.frontier) == ""
