"""The site file of the demo forum against the demo forum: every field equal to the truth."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.model import Comment, Fetched, Items, Post, Request, Stage
from crawl_tasks.parse.site_parser import SiteParser, compile_parser
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import load_site

FILE = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"


class Crawl:
    """A crawl in this process, without frontier: each request once, first come first served."""

    def __init__(self, forum: DemoForum, parser: SiteParser) -> None:
        self.forum, self.parser = forum, parser
        self.requests: list[Request] = []
        self.pages: list[Items] = []
        self.statuses: dict[str, int] = {}
        self.notes: list[str] = []

    def run(self, boards: list[str]) -> None:
        addresses = Addresses(self.parser.site)
        first = [Request("demo", Stage.LIST, board, addresses.of(Stage.LIST, board) or "") for board in boards]
        todo, seen = deque(first), {(one.stage, one.key, one.page, one.revision) for one in first}
        while todo:
            for child in self.step(todo.popleft()):
                known = (child.stage, child.key, child.page, child.revision)
                if known not in seen:
                    seen.add(known)
                    todo.append(child)

    def step(self, request: Request) -> tuple[Request, ...]:
        self.requests.append(request)
        path = request.address.removeprefix(self.parser.site.base)
        answer = self.forum.render(path)
        self.statuses[path] = answer.status
        if answer.status != 200:
            return ()
        at_s = parsedate_to_datetime(self.forum.date).timestamp()
        parsed = self.parser.parse(request, Fetched(request.address, 200, answer.headers, answer.body, at_s), 0)
        self.pages.append(parsed.items)
        self.notes += parsed.notes
        return parsed.children


@cache
def crawled() -> Crawl:
    crawl = Crawl(DemoForum(seed=1), compile_parser(load_site(FILE)))
    crawl.run([forum.forum_id for forum in crawl.forum.truth().forums])
    return crawl


def spelled(text: str | None) -> str | None:
    """Bring a body to the form that the truth has."""
    if text is None:
        return None
    kept = (re.sub(r"\s+", " ", line).strip() for line in unicodedata.normalize("NFC", text).split("\n"))
    return "\n".join(line for line in kept if line)


def rows() -> list[Post]:
    return [post for page in crawled().pages for post in page.posts if page.forums]


def posts() -> list[Post]:
    return [post for page in crawled().pages for post in page.posts if not page.forums]


def comments() -> list[Comment]:
    return [comment for page in crawled().pages for comment in page.comments]


def test_every_page_of_the_truth_is_asked_for_and_no_other() -> None:
    crawl = crawled()

    asked = [request.address.removeprefix(crawl.parser.site.base) for request in crawl.requests]

    assert sorted(asked) == sorted(crawl.forum.truth().paths)


def test_boards_have_their_titles() -> None:
    found = {forum.forum_id: forum.title for page in crawled().pages for forum in page.forums}

    assert found == {forum.forum_id: forum.title for forum in crawled().forum.truth().forums}


def test_rows_tell_what_the_truth_tells() -> None:
    truth = {post.post_id: post for post in crawled().forum.truth().posts}

    found = {
        (row.post_id, row.forum_id, row.title, row.author, row.author_id, row.created_at, row.last_reply_at,
         row.edited_at, row.reply_count, row.view_count, int((row.extra or {}).get("edits", 0)))
        for row in rows()
    }  # fmt: skip

    assert found == {
        (one.post_id, forum, one.title, one.author, one.author_id, one.created_at, one.last_reply_at, one.edited_at,
         one.reply_count, one.view_count, one.edits)
        for one in truth.values() for forum in one.forum_ids
    }  # fmt: skip


def test_a_thread_has_one_revision_on_all_its_lists() -> None:
    revisions: dict[str, set[str | None]] = {}

    for row in rows():
        revisions.setdefault(row.post_id, set()).add(row.revision)

    assert all(len(found) == 1 and "" not in found for found in revisions.values())


def test_posts_tell_what_the_truth_tells() -> None:
    found = {
        (post.post_id, post.forum_id, post.title, post.author, post.author_id, post.created_at, post.edited_at,
         post.reply_count, post.view_count, spelled(post.body))
        for post in posts()
    }  # fmt: skip

    assert found == {
        (one.post_id, one.forum_ids[0], one.title, one.author, one.author_id, one.created_at, one.edited_at,
         one.reply_count, one.view_count, one.body)
        for one in crawled().forum.truth().posts if one.status == 200
    }  # fmt: skip


def test_comments_tell_what_the_truth_tells() -> None:
    found = {
        (one.comment_id, one.post_id, one.parent_id, one.depth, one.author, one.author_id, one.created_at,
         spelled(one.body), one.state, one.page)
        for one in comments()
    }  # fmt: skip

    assert found == {
        (one.comment_id, one.post_id, one.parent_id, one.depth, one.author, one.author_id, one.created_at, one.body,
         one.state, one.page)
        for one in crawled().forum.truth().comments
    }  # fmt: skip


def test_every_comment_is_found_once() -> None:
    ids = [one.comment_id for one in comments()]

    assert len(ids) == len(set(ids)) == len(crawled().forum.truth().comments)


def test_nothing_on_a_sound_forum_is_remarked_upon() -> None:
    assert crawled().notes == []


def test_the_second_generation_shows_in_the_revisions_of_what_changed_and_nowhere_else() -> None:
    forum = DemoForum(seed=1)
    parser = compile_parser(load_site(FILE))
    before, after = Crawl(forum, parser), Crawl(forum, parser)
    boards = [one.forum_id for one in forum.truth().forums]
    before.run(boards)
    old = {post.post_id: post.revision for items in before.pages for post in items.posts if items.forums}

    truth = {one.post_id: one for one in forum.truth().posts}
    forum.mutate()
    after.run(boards)

    new = {post.post_id: post.revision for items in after.pages for post in items.posts if items.forums}
    now = {one.post_id: one for one in forum.truth().posts}
    changed = {key for key, one in now.items() if key not in truth or _state(truth[key]) != _state(one)}
    assert {key for key in new if new[key] != old.get(key)} == changed


def _state(post: object) -> tuple[object, ...]:
    return tuple(getattr(post, name) for name in ("reply_count", "edits"))
