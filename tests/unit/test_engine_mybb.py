"""The preset for MyBB, on small pages of ours in its default theme's markup."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import AccessDenied, Gone
from crawl_tasks.model import Stage
from tests.unit.pages import AT_S, found_extra
from tests.unit.presets import Preset

MYBB = Preset("mybb")
TRAIL = """<div class="navigation"><a href="forumdisplay.php?fid=3">Category</a>
<a href="forumdisplay.php?fid=4">Board</a>
<div class="pagination pagination_breadcrumb"><a href="forumdisplay.php?fid=4&amp;page=9" class="pagination_last">9</a>
<a href="forumdisplay.php?fid=4&amp;page=2" class="pagination_next">Next</a></div></div>"""


def row(thread: int, *, icon: str = "newfolder", cell: str = "forumdisplay_regular", when: str = "05-31-2023, 03:12 PM",
        last: str = "06-03-2023, 09:08 AM") -> str:  # fmt: skip
    return f"""<tr class="inline_row"><td class="trow1 {cell}"><span class="thread_status {icon}"></span></td><td></td>
    <td><a href="showthread.php?tid={thread}&amp;action=newpost">new</a><span id="tid_{thread}">
      <a href="showthread.php?tid={thread}">Thread &lt;{thread}&gt;</a></span>
      <span class="author smalltext"><a>ann</a>, </span><span class="thread_start_datetime">{when}</span></td>
    <td><a href="misc.php?action=whoposted&tid={thread}">1,234</a></td><td>107</td>
    <td><span class="lastpost smalltext">{last}<br><a>Last Post</a>: <a>bob</a></span></td></tr>"""


def listing(*rows: str, pager: str = "") -> str:
    # The pages that a trail offers are those of the board above.
    trail = TRAIL.replace("fid=4&amp;page", "fid=3&amp;page")
    return f"""<div id="content">{trail}<div class="float_left"><div class="pagination">{pager}</div></div>
    <table class="tborder clear"><tr><td class="thead"><div><strong>Board</strong></div></td></tr>
    {"".join(rows) or '<tr><td colspan="7" class="trow1">No threads.</td></tr>'}</table></div>"""


def post(number: int, *, body: str = "text", when: str = "05-31-2023, 03:12 PM", edit: str = "") -> str:
    return f"""<!-- start: postbit --><a name="pid{number}"></a><div class="post " id="post_{number}">
    <div class="author_information"><strong><span class="largetext"><a>user{number}</a></span></strong></div>
    <div class="post_head"><span class="post_date">{when} <span class="post_edit">{edit}</span></span></div>
    <div class="post_body scaleimages" id="pid_{number}">{body}</div></div>"""


def thread(*posts: str, pager: str = "") -> str:
    return f"""<div id="content">{TRAIL}<div class="float_left"><div class="pagination">{pager}</div></div>
    <table><tr><td class="thead"><div class="float_right"><span><strong>Threaded</strong></span></div>
    <div><strong>Title</strong></div>
    </td></tr></table><div id="posts">{"".join(posts)}</div></div>"""


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("/showthread.php?tid=12", ("post", "12", 1)),
        ("/showthread.php?tid=12&page=1", ("post", "12", 1)),
        ("/showthread.php?tid=12&pid=99#pid99", ("post", "12", 1)),
        ("/showthread.php?mode=threaded&tid=12&pid=99", ("post", "12", 1)),
        ("/showthread.php?pid=99#pid99", ("post", "pid=99", 1)),
        ("/showthread.php?tid=12&action=lastpost", ("post", "12", 1)),
        ("/archive/index.php?thread-12.html", ("post", "12", 1)),
        ("/thread-12.html", ("post", "12", 1)),
        ("/thread-12-lastpost.html", ("post", "12", 1)),
        ("/showthread.php?tid=12&page=3", ("comment", "12", 3)),
        ("/showthread.php?tid=12&page=10", ("comment", "12", 10)),
        ("/thread-12-page-3.html", ("comment", "12", 3)),
        ("/forumdisplay.php?fid=4&page=3", ("list", "4", 3)),
        ("/forumdisplay.php?fid=4", ("list", "4", 1)),
        ("/forum-4-page-2.html", ("list", "4", 2)),
        ("/member.php?action=profile&uid=12", None),
    ],
)
def test_all_addresses_of_a_thread_name_the_same_page(address: str, named: tuple[str, str, int] | None) -> None:
    assert MYBB.named(address) == named


def test_boards_and_sub_boards_are_found_and_categories_and_links_elsewhere_are_not() -> None:
    front = """<table><tr><td class="thead"><div><strong><a href="forumdisplay.php?fid=1">Category</a></strong></div>
    </td></tr><tr><td class="trow1"><span class="forum_status forum_on"></span></td><td class="trow1">
      <strong><a href="forumdisplay.php?fid=2">Board</a></strong><div class="smalltext">x<strong>Sub Forums:</strong>
      <div class="subforumicon"></div><a href="forumdisplay.php?fid=3">Sub-board</a></div></td>
    <td class="trow1"><a href="showthread.php?tid=9&amp;action=lastpost"><strong>last</strong></a></td></tr>
    <tr><td class="trow1"><span class="forum_status forum_offlink"></span></td>
    <td class="trow1"><strong><a href="forumdisplay.php?fid=4">Link</a></strong></td></tr></table>"""

    assert MYBB.boards(front) == [("2", "Board", None), ("3", "Sub-board", None)]


def test_the_rows_of_a_board_are_read() -> None:
    rows = row(1, cell="forumdisplay_sticky"), row(2, icon="newhotclosefolder"), row(3, icon="movefolder")

    parsed = MYBB.parse(Stage.LIST, "4", listing(*rows))

    first, locked = parsed.items.posts
    assert (first.post_id, first.title, first.author, first.created_at) == ("1", "Thread <1>", "ann", 1685545920)
    assert (first.reply_count, first.view_count, first.last_reply_at) == (1234, 107, 1685783280)
    assert (found_extra(first), found_extra(locked)) == ({"pinned": "sticky"}, {"locked": "close"})
    assert parsed.items.forums[0].title == "Board"
    assert [child.stage for child in parsed.children] == [Stage.POST] * 2


@pytest.mark.parametrize(
    ("when", "moment"),
    [
        ('<span title="06-20-2024, 05:54 AM">1 hour ago</span>', 1718862840),
        ('<span title="06-19-2024">Yesterday</span>, 06:24 AM', 1718778240),
        ("06-19-2024, 18:24", 1718821440),
        ("12-31-2023, 12:05 AM", 1703981100),
    ],
)
def test_times_in_words_are_as_exact_as_the_page_is(when: str, moment: int) -> None:
    listed = MYBB.parse(Stage.LIST, "4", listing(row(1, when=when, last=when))).items.posts[0]
    shown = MYBB.parse(Stage.POST, "1", thread(post(10, when=when), post(11, when=when))).items

    assert moment < AT_S
    assert [listed.created_at, listed.last_reply_at] == [moment] * 2
    assert [shown.posts[0].created_at, shown.comments[0].created_at] == [moment] * 2


def test_a_board_without_threads_is_empty() -> None:
    assert MYBB.parse(Stage.LIST, "4", listing()).items.posts == ()


def test_only_the_boards_own_pager_leads_on() -> None:
    last = MYBB.parse(Stage.LIST, "4", listing(row(1)))
    more = MYBB.parse(Stage.LIST, "4", listing(row(1), pager='<a class="pagination_next">Next</a>'))

    assert [child.page for child in last.children if child.stage is Stage.LIST] == []
    assert [child.page for child in more.children if child.stage is Stage.LIST] == [2]


def test_a_thread_does_not_walk_into_its_boards_pages() -> None:
    pager = (
        '<span class="pages">Pages (3):</span><span class="pagination_current">1</span><a>2</a><a>3</a><a>Next »</a>'
    )

    one = MYBB.parse(Stage.POST, "7", thread(post(10)))
    three = MYBB.parse(Stage.POST, "7", thread(post(10), pager=pager))

    assert one.children == ()
    assert [(child.stage, child.page) for child in three.children] == [(Stage.COMMENT, 2), (Stage.COMMENT, 3)]


def test_the_first_post_is_the_thread_and_the_others_are_replies() -> None:
    quote = """<blockquote class="mycode_quote"><cite><span> (05-01-2026)</span>x Wrote:
    <a href="/showthread.php?pid=10#pid10" class="quick_jump"></a></cite>theirs</blockquote>
    <br>mine<div class="codeblock"><div class="title">Code:</div>
    <div class="body"><code>ls</code></div></div><img class="smilie" alt=":)" src="s.gif">
    <img class="mycode_img" src="/a.png">"""
    edit = '<span class="edited_post">(last modified: 05-02-2026, 12:57 AM by <a>ann</a>. <em>01</em>)</span>'
    page = thread(post(10), post(11, body=quote, edit=edit), post(12))

    parsed = MYBB.parse(Stage.POST, "7", page)

    only = parsed.items.posts[0]
    assert (only.title, only.author, only.body, only.edited_at, only.forum_id) == ("Title", "user10", "text", None, "4")
    second, third = parsed.items.comments
    assert (second.comment_id, second.parent_id, second.body) == ("11", "10", "mine\nls\n:)")
    assert (second.edited_at, found_extra(second)) == (1777683420, {"images": "https://forum.example/a.png"})
    assert (third.comment_id, third.parent_id, third.edited_at) == ("12", None, None)


def test_the_first_post_of_a_later_page_is_a_reply_too() -> None:
    parsed = MYBB.parse(Stage.COMMENT, "7", thread(post(10), post(11)), page=2)

    assert [one.comment_id for one in parsed.items.comments] == ["10", "11"]


def test_a_link_to_a_reply_leads_to_its_thread() -> None:
    foot = '<ul><li><a href="printthread.php?tid=7">View a Printable Version</a></li></ul>'

    parsed = MYBB.parse(Stage.POST, "pid=11", thread(post(10), post(11)) + foot)

    assert not parsed.items
    assert [child.key for child in parsed.children] == ["7"]


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ('<div id="content"><table><tr><td class="trow1">does not exist</td></tr></table></div>', Gone),
        (
            '<div id="content"><form action="member.php"><input name="action" value="do_login"></form></div>',
            AccessDenied,
        ),
    ],
)
@pytest.mark.parametrize(("stage", "page"), [(Stage.POST, 1), (Stage.COMMENT, 2)])
def test_walls_with_status_200_are_told_from_threads(
    stage: Stage, page: int, body: str, raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        MYBB.parse(stage, "7", body, page=page)
