"""The preset for NodeBB, on small pages of ours in its Harmony theme's markup."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import AccessDenied
from crawl_tasks.model import Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

NODEBB = Preset("nodebb", "boards: [{id: 5, address: /category/5/a-board}]")


def row(topic: int, *, sign: str = "unread", href: str | None = None) -> str:
    where = f"/topic/{topic}/标题-words" if href is None else href
    return f"""<li component="category/topic" class="category-item {sign}" data-tid="{topic}" data-index="0">
    <a class="d-inline-block" title="ann" href="/user/ann">A</a>
    <h3 component="topic/header"><a class="text-reset" href="{where}">Topic &lt;{topic}&gt;</a></h3>
    <a href="/topic/{topic}/x/6" class="border timeago" title="2026-02-08T01:28:05.000Z"></a>
    <a href="/topic/{topic}/x" class="d-none d-lg-block timeago" title="2026-02-07T18:01:39.000Z"></a>
    <div class="stats-postcount"><span title="1234">1.2k</span></div>
    <div class="stats-viewcount"><span title="69">69</span></div>
    <div component="topic/teaser"><a class="permalink timeago" href="/topic/{topic}/x/6"
      title="2026-02-08T01:28:05.000Z"></a></div></li>"""


def listing(*rows: str, link: str = "") -> str:
    return f"""<head>{link}</head><body class="page-category"><h1 class="tracking-tight fs-3">A board</h1>
    <ul component="category">{"".join(rows)}</ul></body>"""


def post(index: int, *, body: str = "<p>text</p>", sign: str = "", parent: str = "", edited: str = "") -> str:
    above = f'<div component="post/parent" data-parent-pid="{parent}">theirs</div>' if parent else ""
    mark = f'class="edit-icon {"" if edited else "hidden"}" title="Edited {edited or "Invalid Date"}"'
    return f"""<li component="post" class="pt-4 {sign}" data-index="{index}" data-pid="{index + 100}"
    data-timestamp="1714000000000" data-username="user{index}">{above}
    <i component="post/edit-indicator" {mark}></i><div class="content" component="post/content">{body}</div></li>"""


def topic(*posts: str, link: str = "") -> str:
    return f"""<head>{link}</head><body><h1><span component="topic/title">Title</span></h1>
    <div component="topic/stats"><i class="fa fa-eye"></i><span title="316">316</span></div>
    <ul component="topic" data-tid="7" data-cid="5">{"".join(posts)}</ul></body>"""


def following(page: int) -> str:
    return f'<link rel="next" href="{{}}?page&#x3D;{page}&amp;lang&#x3D;en-GB" />'


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("/topic/12", ("post", "12", 1)),
        ("/topic/12/some-words", ("post", "12", 1)),
        ("/topic/12/标题?lang=en-GB", ("post", "12", 1)),
        ("/topic/12/some-words?page=1", ("post", "12", 1)),
        ("/topic/12/some-words/17", ("post", "12", 1)),
        ("/topic/12/some-words?page=3&lang=en-GB", ("comment", "12", 3)),
        ("/topic/12/some-words?lang=de&page=10", ("comment", "12", 10)),
        ("/category/5/a-board", ("list", "5", 1)),
        ("/category/5", ("list", "5", 1)),
        ("/category/5/words?lang=en-GB&page=2", ("list", "5", 2)),
        ("/api/topic/12/some-words", None),
        ("/topic/12.rss", None),
        ("/user/ann", None),
    ],
)
def test_all_addresses_of_a_topic_name_the_same_page(address: str, named: tuple[str, str, int] | None) -> None:
    assert NODEBB.named(address) == named


def test_the_rows_of_a_category_are_read() -> None:
    parsed = NODEBB.parse(Stage.LIST, "5", listing(row(1, sign="pinned locked"), row(2)))

    first, second = parsed.items.posts
    assert (first.post_id, first.title, first.author, first.created_at) == ("1", "Topic <1>", "ann", 1770487299)
    assert (first.reply_count, first.view_count, first.last_reply_at) == (1233, 69, 1770514085)
    assert (found_extra(first), found_extra(second)) == (
        {"pinned": "pinned", "locked": "locked"},
        {},
    )
    assert parsed.items.forums[0].title == "A board"
    assert [child.address for child in parsed.children] == [second.url, first.url]  # the pinned one last


def test_a_deleted_topic_is_marked_and_not_asked_for() -> None:
    parsed = NODEBB.parse(Stage.LIST, "5", listing(row(1, sign="deleted", href="#")))

    only = parsed.items.posts[0]
    assert (only.post_id, only.state, only.title) == ("1", "deleted", None)
    assert parsed.children == ()


def test_a_category_without_topics_is_empty() -> None:
    assert NODEBB.parse(Stage.LIST, "5", listing()).items.posts == ()


def test_links_lead_on_without_the_language() -> None:
    more = NODEBB.parse(Stage.LIST, "5", listing(row(1), link=following(2).format("/category/5/a-board")))
    longer = NODEBB.parse(Stage.POST, "7", topic(post(0), link=following(2).format("/topic/7/words")))
    third = NODEBB.parse(Stage.COMMENT, "7", topic(post(20), link=following(3).format("/topic/7/words")), page=2)

    assert [one.address for one in more.children][1:] == ["https://forum.example/category/5/a-board?page=2"]
    assert [one.address for one in longer.children] == ["https://forum.example/topic/7/words?page=2"]
    assert [(one.address, one.page) for one in third.children] == [("https://forum.example/topic/7/words?page=3", 3)]


def test_the_first_post_is_the_topic_and_the_others_are_replies() -> None:
    quote = """<blockquote><p>theirs</p></blockquote><p>mine <img class="emoji emoji-android" alt="😀" src="e.png">
    <img src="/assets/uploads/files/a.png"> <a href="/assets/uploads/files/b.zip">b</a></p>"""
    page = topic(
        post(0), post(1, parent="105", body=quote, edited="20/11/2023, 23:31"), post(2, sign="deleted", body="deleted!")
    )

    parsed = NODEBB.parse(Stage.POST, "7", page)

    only = parsed.items.posts[0]
    assert (only.title, only.author, only.body, only.created_at) == ("Title", "user0", "text", 1714000000)
    assert (only.forum_id, only.view_count, only.edited_at, only.state) == ("5", 316, None, "normal")
    answer, gone = parsed.items.comments
    assert (answer.comment_id, answer.parent_id, answer.body, answer.edited_at) == (
        "101",
        "105",
        "mine 😀 b",
        1700523060,
    )
    assert found_extra(answer) == {
        "images": "https://forum.example/assets/uploads/files/a.png",
        "attachments": "https://forum.example/assets/uploads/files/b.zip",
    }
    assert (gone.comment_id, gone.parent_id, gone.state, gone.body) == ("102", None, "deleted", None)


def test_a_deleted_first_post_is_marked() -> None:
    only = NODEBB.parse(Stage.POST, "7", topic(post(0, sign="deleted"), post(1))).items.posts[0]

    assert (only.title, only.state, only.body) == ("Title", "deleted", None)


@pytest.mark.parametrize(("stage", "page"), [(Stage.LIST, 1), (Stage.POST, 1), (Stage.COMMENT, 2)])
def test_a_login_page_is_told_from_a_topic(stage: Stage, page: int) -> None:
    with pytest.raises(AccessDenied):
        NODEBB.parse(stage, "7", '<body class="page-login template-login"><form id="login-form"></form>', page=page)


def test_votes_and_tags_are_read() -> None:
    votes = '<a component="post/vote-count" data-votes="{}">{}</a>'
    tags = '<div component="topic/tags"><a class="tag-item" data-tag="linux">Linux</a><a data-tag="how to">x</a></div>'
    posts = [post(number, body=f"<p>text</p></div>{votes.format(number - 1, number)}") for number in range(2)]

    parsed = NODEBB.parse(Stage.POST, "7", topic(*posts).replace("<ul", f"{tags}<ul"))

    assert found_extra(parsed.items.posts[0]) == {"score": "-1", "tags": "linux, how to"}
    assert found_extra(parsed.items.comments[0]) == {"score": "0"}
