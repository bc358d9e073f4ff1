"""The preset for phpBB, on small pages of ours in prosilver's markup."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import AccessDenied, Gone
from crawl_tasks.model import Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

SID = "sid=0123456789abcdef0123456789abcdef"
PHPBB = Preset("phpbb")
PAGER = """<li class="page-jump"><a class="button">Page 1 of 4</a>{jump}</li><li class="active"><span>1</span></li>
<li><a class="button" href="./viewtopic.php?t=7&start={second}">2</a></li><li class="ellipsis">…</li>
<li><a class="button" href="./viewtopic.php?t=7&start=999">4</a></li>"""


def row(topic: int, *, kind: str = "", dl: str = "topic_read", home: int = 0) -> str:
    where = f'in <a href="./viewforum.php?f={home}&amp;{SID}">Elsewhere</a>' if home else ""
    return f"""<li class="row bg1{kind}"><dl class="row-item {dl}"><dt><div class="list-inner">
    <a href="./viewtopic.php?t={topic}&amp;{SID}" class="topictitle">Topic &lt;{topic}&gt;</a>
    <div class="responsive-show">by <a class="username">last</a> <time datetime="2026-01-02T00:00:00Z">x</time></div>
    <div class="topic-poster">by <a class="username-coloured">ann</a>
      <time datetime="2026-01-01T00:00:00+00:00">Jan</time> {where}</div>
    <div class="pagination"><ul><li class="next"><a>2</a></li></ul></div></div></dt>
    <dd class="posts">1,234 <dfn>Replies</dfn></dd><dd class="views">7 <dfn>Views</dfn></dd>
    <dd class="lastpost"><time datetime="2026-01-02T00:00:00+00:00">x</time></dd></dl></li>"""


def listing(*rows: str, pager: str = "") -> str:
    return f"""<h2 class="forum-title"><a>General</a></h2>
    <div class="action-bar"><div class="pagination">2 topics<ul>{pager}</ul></div></div>
    <ul class="topiclist topics">{"".join(rows)}</ul>"""


def post(number: int, *, body: str = "text", notice: str = "") -> str:
    return f"""<div id="p{number}" class="post bg1"><dl class="postprofile">
    <dt><a class="username">user{number}</a></dt></dl>
    <p class="author">by <a class="username">user{number}</a> <time datetime="2026-01-01T00:00:{number}+00:00">Jan
    </time></p><div class="content">{body}</div>{notice}</div><hr>"""


def topic(*posts: str, pager: str = "") -> str:
    return f"""<ul id="nav-breadcrumbs"><li><span class="crumb" data-forum-id="3"></span>
    <span class="crumb" data-forum-id="4"></span></li></ul><h2 class="topic-title"><a>Title</a></h2>
    <div class="action-bar"><div class="pagination">3 posts <ul>{pager}</ul></div></div>{"".join(posts)}"""


@pytest.mark.parametrize(
    ("address", "named"),
    [
        (f"/viewtopic.php?t=12&{SID}", ("post", "12", 1)),
        (f"/viewtopic.php?f=4&t=12&{SID}#p99", ("post", "12", 1)),
        ("./viewtopic.php?t=12&start=0&hilit=word", ("post", "12", 1)),
        ("/viewtopic.php?t=12&view=print", ("post", "12", 1)),
        ("/viewtopic.php?t=12&start=20", ("comment", "12", 3)),
        ("/viewtopic.php?start=20&t=12", ("comment", "12", 3)),
        (f"/viewforum.php?f=4&{SID}&start=50", ("list", "4", 3)),
        ("/viewforum.php?f=4", ("list", "4", 1)),
        ("/viewtopic.php?p=99#p99", ("post", "p=99", 1)),
        ("/memberlist.php?mode=viewprofile&u=12", None),
        ("https://elsewhere.example/viewtopic.php?t=12", None),
    ],
)
def test_all_addresses_of_a_topic_name_the_same_page(address: str, named: tuple[str, str, int] | None) -> None:
    assert PHPBB.named(address) == named


def test_boards_and_sub_boards_are_found_and_categories_and_links_elsewhere_are_not() -> None:
    front = f"""<ul class="topiclist"><li><dl><dt><a href="./viewforum.php?f=1&amp;{SID}">All</a></dt></dl></li></ul>
    <ul class="topiclist forums"><li class="row"><dl class="row-item forum_read_subforum"><dt>
      <a href="./viewforum.php?f=2&amp;{SID}" class="forumtitle">Board</a>
      <a href="./viewforum.php?f=3&amp;{SID}" class="subforum read"><i></i>Sub-board</a></dt>
      <dd class="lastpost"><a class="lastsubject" href="./viewtopic.php?p=9">x</a></dd></dl></li>
    <li class="row"><dl class="forum_link"><dt><a href="https://other.example/" class="forumtitle">Link</a></dt></dl>
    </li></ul>"""

    assert PHPBB.boards(front) == [("2", "Board", None), ("3", "Sub-board", None)]


def test_the_rows_of_a_board_are_read() -> None:
    rows = row(1, kind=" sticky"), row(2, dl="topic_read_locked"), row(3, dl="topic_moved"), row(5, home=9)

    parsed = PHPBB.parse(Stage.LIST, "4", listing(*rows))

    first, locked, foreign = parsed.items.posts
    assert (first.post_id, first.title, first.author, first.created_at) == ("1", "Topic <1>", "ann", 1767225600)
    assert (first.reply_count, first.view_count, first.last_reply_at, first.forum_id) == (1234, 7, 1767312000, "4")
    assert (found_extra(first), found_extra(locked)) == ({"pinned": "sticky"}, {"locked": "locked"})
    assert (foreign.post_id, foreign.forum_id) == ("5", "9")
    assert [child.stage for child in parsed.children] == [Stage.POST] * 3


@pytest.mark.parametrize(
    ("kind", "pinned"),
    [("", None), (" sticky reported", "sticky"), (" announce", "announce"), (" global-announce", "global-announce")],
)
def test_pinned_rows_say_how(kind: str, pinned: str | None) -> None:
    extra = found_extra(PHPBB.parse(Stage.LIST, "4", listing(row(1, kind=kind))).items.posts[0])

    assert (extra or {}).get("pinned") == pinned


def test_only_the_boards_own_pager_leads_on() -> None:
    more = '<li class="arrow next"><a href="./viewforum.php?f=4&start=25">Next</a></li>'

    parsed = PHPBB.parse(Stage.LIST, "4", listing(row(1), pager=more))

    assert parsed.children[-1].address.endswith("/viewforum.php?f=4&start=25")


def test_a_board_without_topics_is_empty() -> None:
    empty = '<div class="panel"><div class="inner"><strong>There are no topics.</strong></div></div>'

    assert PHPBB.parse(Stage.LIST, "4", empty).items.posts == ()


def test_the_first_post_is_the_topic_and_the_others_are_replies() -> None:
    quote = '<blockquote><div><cite><a href="./viewtopic.php?p=10#p10">x</a> wrote:</cite>theirs</div></blockquote>mine'
    notice = (
        '<div class="notice">Last edited by <a>u1 on 1 May 2020</a> on Thu Jan 01, 2026 8:47 am, edited 1 time</div>'
    )
    page = topic(post(10), post(11, body=quote, notice=notice), post(12, body='<img class="smilies" alt=":)">x'))

    parsed = PHPBB.parse(Stage.POST, "7", page)

    only = parsed.items.posts[0]
    assert (only.title, only.author, only.created_at, only.body) == ("Title", "user10", 1767225610, "text")
    assert (only.edited_at, only.forum_id) == (None, "4")
    second, third = parsed.items.comments
    assert (second.comment_id, second.parent_id, second.body, second.edited_at) == ("11", "10", "mine", 1767257220)
    assert (third.comment_id, third.parent_id, third.body) == ("12", None, ":)x")
    assert parsed.children == ()


@pytest.mark.parametrize(
    ("pager", "starts"),
    [
        ("<li>&bull; Page 1 of 1</li>", []),
        (PAGER.format(jump='<input data-per-page="10">', second=10), [10, 20, 30]),
        (PAGER.format(jump='<input data-per-page="15">', second=15), [15, 30, 45]),
        (PAGER.format(jump="", second=15), [15, 30, 45]),
    ],
)
def test_the_pages_of_a_topic_are_as_large_as_the_forum_makes_them(pager: str, starts: list[int]) -> None:
    parsed = PHPBB.parse(Stage.POST, "7", topic(post(10), pager=pager))

    assert [child.address for child in parsed.children] == [
        f"https://forum.example/viewtopic.php?t=7&start={start}" for start in starts
    ]
    assert [child.page for child in parsed.children] == [page + 2 for page in range(len(starts))]


def test_the_pages_of_a_board_are_as_large_as_the_forum_makes_them() -> None:
    more = (
        '<li><input data-per-page="50"></li><li class="arrow next"><a href="./viewforum.php?f=4&start=50">Next</a></li>'
    )

    parsed = PHPBB.parse(Stage.LIST, "4", listing(row(1), pager=more))

    assert parsed.children[-1].address == "https://forum.example/viewforum.php?f=4&start=50"


def test_the_first_post_of_a_later_page_is_a_reply_too() -> None:
    parsed = PHPBB.parse(Stage.COMMENT, "7", topic(post(10), post(11)), page=2)

    assert [one.comment_id for one in parsed.items.comments] == ["10", "11"]


def test_pictures_and_attachments_are_named_by_whole_addresses() -> None:
    body = '<img src="//img.example/a.png"><img class="smilies" src="s.gif"><a href="./download/file.php?id=3">b</a>'

    parsed = PHPBB.parse(Stage.POST, "7", topic(post(10), post(11, body=body)))

    assert found_extra(parsed.items.posts[0]) == {}
    assert found_extra(parsed.items.comments[0]) == {
        "images": "https://img.example/a.png",
        "attachments": "https://forum.example/download/file.php?id=3",
    }


def test_a_link_to_a_reply_leads_to_its_topic() -> None:
    head = f'<link rel="canonical" href="https://forum.example/viewtopic.php?t=7&{SID}">'

    parsed = PHPBB.parse(Stage.POST, "p=11", head + topic(post(10), post(11)))

    assert not parsed.items
    assert [(child.stage, child.key, child.address) for child in parsed.children] == [
        (Stage.POST, "7", "https://forum.example/viewtopic.php?t=7")
    ]


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ('<div id="message"><h2 class="message-title">Information</h2></div>', Gone),
        ('<form id="login"></form>', AccessDenied),
    ],
)
def test_walls_are_told_from_topics(body: str, raised: type[Exception]) -> None:
    with pytest.raises(raised):
        PHPBB.parse(Stage.POST, "7", body)
