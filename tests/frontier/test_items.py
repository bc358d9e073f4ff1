"""Items on their way from a page to the outbox pass the steps of their site."""

from __future__ import annotations

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Comment, State
from tests.frontier.small_crawl import SmallCrawl


def breaks(item: Comment) -> Comment:
    raise RuntimeError("a step of the site")


def test_a_page_is_committed_without_what_its_steps_dropped(crawl: SmallCrawl) -> None:
    crawl.publish("boards: [1]\nitems: [{drop: {field: body, regex: pills, reason: advert}}, {language: body}]\n")
    crawl.forum.board("1", 1, "7 2")
    crawl.forum.thread("7", "c1 buy pills", "c2 this is what we think of it")
    crawl.scan()

    comments = [comment for page in crawl.items() for comment in page.comments]
    assert [(comment.comment_id, comment.extra) for comment in comments] == [("c2", {"language": "en"})]
    assert Inspector(crawl.frontier).count_requests("demo").count("dropped:advert") == 1


def test_a_page_whose_step_fails_is_parked_and_counts_nothing(crawl: SmallCrawl) -> None:
    crawl.publish(f"boards: [1]\nitems: [{{drop: {{field: body, regex: pills}}}}, '{__name__}:breaks']\n")
    crawl.forum.board("1", 1, "7 2")
    crawl.forum.thread("7", "c1 buy pills", "c2 text")
    crawl.scan()

    grave = next(Admin(crawl.frontier).failed.requests.list(Selection("demo", State.PARKED)))
    assert (grave.reason, "a step of the site" in grave.details) == ("crash", True)
    assert Inspector(crawl.frontier).count_requests("demo").count("dropped:pattern") == 0
