"""Misago: lists that show the threads of categories below, and threads whose every page begins with a post."""

from __future__ import annotations

import pytest

from crawl_tasks.model import Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

CATEGORIES = """<ul class="list-group-category"><li><div class="category-main">
<a href="/c/general/4/">General</a></div><div><a href="/t/words/12/last/">Words</a></div></li>
<li class="list-group-item"><a href="/c/talk/5/">Talk</a></li></ul>"""
ROW = """<li id="threads-item-{number}" class="threads-list-item">
<a href="/t/words-{number}/{number}/" class="threads-list-item-title">Words {number}</a>
<ul class="thread-flags">{flags}</ul>{labels}<span class="threads-replies" title="x"><span>chat</span>
{replies}</span><a class="threads-list-item-last-activity" title="Nov. 20, 2026">today</a></li>"""
LABEL = '<a href="/c/talk/5/" class="threads-list-item-category {}">Talk</a>'
PINNED = '<li class="thread-flag-pinned-locally"></li><li class="thread-flag-closed"></li>'
POST = """<li id="post-{number}" class="post"><div class="panel"><span itemprop="author">{who}</span>
<time itemprop="datePublished" datetime="2025-04-06T08:00:{number}+00:00">April 6</time>{body}</div></li>"""
SAID = """<div class="post-body"><article class="misago-markup"><aside class="quote-block"><div
class="quote-heading">ann has written:</div><blockquote>old</blockquote></aside><p>say it</p></article></div>"""
HIDDEN = '<div class="post-body post-body-hidden" itemprop="articleBody"><p>This post is hidden.</p></div>'
PAGER = """<nav class="thread-paginator"><button>first_page</button><div class="dropdown"><button>Page {} of 3</button>
</div></nav>"""


@pytest.fixture(scope="module")
def misago() -> Preset:
    return Preset("misago")


def test_categories_are_boards_and_their_last_threads_are_none(misago: Preset) -> None:
    assert misago.boards(CATEGORIES) == [("4", "General", None), ("5", "Talk", None)]


def test_a_thread_of_a_category_below_is_of_that_one(misago: Preset) -> None:
    above = LABEL.replace("talk/5", "general/4").format("threads-list-item-parent-category")
    rows = ROW.format(number=12, flags=PINNED, labels=above + LABEL, replies=7)
    rows += ROW.format(number=13, flags="", labels="", replies=0)

    parsed = misago.parse(Stage.LIST, "4", f'<link rel="next" href="/c/general/4/?start=389"><ul>{rows}</ul>')

    assert [(one.post_id, one.forum_id, one.reply_count, found_extra(one)) for one in parsed.items.posts] == [
        ("12", "5", 7, {"pinned": "sticky", "locked": "locked"}), ("13", "4", 0, {}),
    ]  # fmt: skip
    assert [one.address.partition("example")[2] for one in parsed.children] == [
        "/t/words-13/13/", "/c/general/4/?start=389", "/t/words-12/12/",
    ]  # fmt: skip  # the pinned one last


def test_a_thread_gives_its_first_post_replies_and_pages(misago: Preset) -> None:
    crumb = '<li class="breadcrumbs-item"><a href="{}">x</a></li>'
    crumbs = f"<ul>{crumb.format('/')}{crumb.format('/c/talk/5/')}</ul>"
    posts = "".join(
        POST.format(number=number, who=who, body=body)
        for number, who, body in ((31, "ann", SAID), (32, "bob", SAID), (33, "cid", HIDDEN))
    )

    parsed = misago.parse(Stage.POST, "12", f"{crumbs}<h1>Words</h1>{PAGER.format(1)}<ul>{posts}</ul>")

    (post,) = parsed.items.posts
    assert (post.title, post.forum_id, post.author, post.created_at, post.body) == (
        "Words", "5", "ann", 1_743_926_431, "say it",
    )  # fmt: skip
    assert [(one.comment_id, one.author, one.body, one.state) for one in parsed.items.comments] == [
        ("32", "bob", "say it", "normal"), ("33", "cid", None, "masked"),
    ]  # fmt: skip
    assert [(one.stage, one.page) for one in parsed.children] == [(Stage.COMMENT, 2), (Stage.COMMENT, 3)]
