"""Hubs, feeds and sitemaps crawled end to end, alone and beside lists of the same threads."""

from __future__ import annotations

import pytest

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Request, Stage
from tests.frontier.by_hand import TERMS, post
from tests.frontier.small_crawl import SmallCrawl

OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
KINDS = ("hub", "feed", "sitemap")


def page_of(kind: str, **changed: str) -> str:
    """Write a page of a kind that names posts, each with the moment at which it changed."""
    links = {
        "hub": "<a href=/post/{}>thread</a>",
        "feed": "<entry><link href='/post/{}'/><updated>{}</updated></entry>",
        "sitemap": "<url><loc>/post/{}</loc><lastmod>{}</lastmod></url>",
    }
    frames = {"hub": "<body>{}</body>", "feed": "<feed>{}</feed>", "sitemap": "<urlset>{}</urlset>"}
    return frames[kind].format("".join(links[kind].format(name[1:], at) for name, at in changed.items()))


def watch(crawl: SmallCrawl, kind: str, *beside: str) -> None:
    boards = ", ".join([*beside, f"{{id: hub, kind: {kind}, address: /hub}}"])
    crawl.publish(f"boards: [{boards}]\n")
    for number in ("7", "8", "9"):
        crawl.forum.thread(number)


@pytest.mark.parametrize(("kind", "again"), [("hub", []), ("feed", ["/post/7"]), ("sitemap", ["/post/7"])])
def test_alone_it_finds_threads_and_what_it_says_of_them_is_their_revision(
    crawl: SmallCrawl, kind: str, again: list[str]
) -> None:
    watch(crawl, kind)
    crawl.forum.pages["/hub"] = page_of(kind, p7=OLD, p8=OLD)
    assert crawl.scan() == ["/hub", "/post/7", "/post/8"]
    stored = {one.post_id: one.title for page in crawl.items() for one in page.posts if one.body}

    crawl.forum.pages["/hub"] = page_of(kind, p7=NEW, p8=OLD)
    second = crawl.scan()

    assert stored == {"7": "post 7", "8": "post 8"}
    assert second == ["/hub", *again]


@pytest.mark.parametrize("kind", KINDS)
def test_beside_a_list_a_post_is_one_request_whatever_found_it(crawl: SmallCrawl, kind: str) -> None:
    watch(crawl, kind, "1")
    crawl.forum.board("1", 1, "7 3", "8 0")
    crawl.forum.pages["/hub"] = page_of(kind, p7=OLD, p8=OLD, p9=OLD)
    assert crawl.scan() == ["/list/1/1", "/hub", "/post/7", "/post/8", "/post/9"]

    crawl.forum.board("1", 1, "7 4", "8 0")
    crawl.forum.pages["/hub"] = page_of(kind, p7=NEW, p8=NEW, p9=NEW)

    assert crawl.scan() == ["/list/1/1", "/hub", "/post/7"]


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_did_not_change_is_not_read(crawl: SmallCrawl, kind: str) -> None:
    watch(crawl, kind)
    crawl.forum.pages["/hub"] = page_of(kind, p7=OLD, p8=OLD)
    crawl.forum.etags["/hub"] = '"one"'
    crawl.scan()

    assert crawl.scan() == crawl.forum.asked_if == ["/hub"]
    assert Inspector(crawl.frontier).count_requests("demo").stats["status:304"] == 1


def test_a_hub_that_is_added_later_asks_only_for_what_no_list_showed(crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1]\n")
    for number in ("7", "8", "9"):
        crawl.forum.thread(number)
    crawl.forum.board("1", 1, "7 3", "8 0")
    crawl.scan()

    crawl.forum.pages["/hub"] = page_of("hub", p7=OLD, p8=OLD, p9=OLD)
    crawl.publish("boards: [1, {id: hub, kind: hub, address: /hub}]\n")

    assert crawl.scan() == ["/list/1/1", "/hub", "/post/9"]


def test_a_rebuilt_guard_knows_a_post_without_its_revision_too(frontier: Frontier) -> None:
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    Admin(frontier).restore.restore_requests("demo", [(post(7, "3"), False)])

    named = [Request("demo", Stage.POST, key, f"http://127.0.0.1/post/{key}") for key in ("7", "8")]

    assert frontier.admit("demo", named).new == 1
