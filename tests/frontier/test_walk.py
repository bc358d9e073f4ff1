"""Walking a forum that moves, and whose pages do not say what there is: everything is read, and nothing loops."""

from __future__ import annotations

from tests.frontier.small_crawl import RULES, SmallCrawl

NEXT = "<a class=next>"


def test_a_later_page_that_leads_where_robots_keeps_us_out_does_not_exist(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("robots: false\n", ""))
    crawl.forum.pages["/robots.txt"] = "User-agent: *\nDisallow: /redirect"
    crawl.forum.board("1", 1, "7 9")
    crawl.forum.thread("7", "c1 one", more="<i class=pages>3</i>")
    crawl.forum.pages["/comment/7/2"] = "<div class=c data-id=c2><p class=say>two</div>"
    crawl.forum.moved["/comment/7/3"] = "/redirect?goto=lastpost"

    crawl.scan()

    census = crawl.frontier.census("demo")
    assert (census.dead, census.done, census.count("gone:comment")) == (0, 4, 1)
    assert "/redirect?goto=lastpost" not in crawl.forum.asked


def test_a_thread_that_leads_where_robots_keeps_us_out_is_not_taken_for_deleted(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("robots: false\n", ""))
    crawl.forum.pages["/robots.txt"] = "User-agent: *\nDisallow: /login"
    crawl.forum.board("1", 1, "7 9")
    crawl.forum.moved["/post/7"] = "/login"

    crawl.scan()

    assert crawl.frontier.census("demo").dead == 1
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
