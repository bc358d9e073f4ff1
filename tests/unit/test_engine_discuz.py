"""The preset for Discuz! X, on small pages of ours in its default template's markup."""

from __future__ import annotations

import pytest

from crawl_tasks.errors import AccessDenied, Gone
from crawl_tasks.model import Stage
from tests.unit.pages import found_extra
from tests.unit.presets import Preset

DISCUZ = Preset("discuz")
PAGER = """<div class="pg"><strong>1</strong><a href="thread-7-2-1.html">2</a><a href="thread-7-3-1.html">3</a>
<label><span title="共 3 页"> / 3 页</span></label><a href="thread-7-2-1.html" class="nxt">下一页</a></div>"""
TRAIL = """<div id="pt"><div class="z"><a href="forum.php">论坛</a> <a href="forum.php?gid=1">分区</a>
<a href="forum-3-1.html">版块</a> <a href="thread-7-1-1.html">标题</a></div></div>"""


def row(thread: int, *, kind: str = "normalthread", icon: str = "fico-thread", count: str = "12",
        when: str = "2024-5-1", last: str = "2024-5-3 9:08", to: int | None = None) -> str:  # fmt: skip
    return f"""<tbody id="{kind}_{thread}"><tr><td class="icn"><a><i class="{icon} fc-l"></i></a></td>
    <th><a class="showcontent"></a> <a href="thread-{to or thread}-1-1.html" class="s xst">标题 &lt;{thread}&gt;</a>
    </th>
    <td class="by"><cite><a c="1">陈默</a></cite><em><span>{when}</span></em></td>
    <td class="num"><a class="xi2">{count}</a><em>{"-" if count == "-" else "66"}</em></td>
    <td class="by"><cite><a c="1">bob</a></cite><em><a href="forum.php?mod=redirect">{last}</a></em></td></tr>
    </tbody>"""


def listing(*rows: str, pager: str = "") -> str:
    return f"""<base href="https://forum.example/"><div id="ct"><h1><a href="forum-3-1.html">版块</a></h1>{pager}
    <div id="threadlist"><table>{"".join(rows)}</table></div></div>"""


def remark(author: str, text: str, when: str = "2024-5-2 13:05") -> str:
    return f"""<div class="pstl xs1 cl"><div class="psta vm"><a><img></a><a class="xi2 xw1">{author}</a></div>
    <div class="psti">\n{text}&nbsp;\n<span class="xg1">\n发表于 {when}</span>\n</div></div>"""


def post(number: int, *, body: str = "正文", when: str = "2024-5-1 15:12:07", remarks: str = "") -> str:
    text = (
        body if "locked" in body else f'<table><tr><td class="t_f" id="postmessage_{number}">{body}</td></tr></table>'
    )
    pager = '<div class="pg"><a href="javascript:;" class="nxt">下一页</a></div>' if remarks else ""
    return f"""<div id="post_{number}"><table><tr><td class="pls">
    <div class="authi"><a class="xw1">user{number}</a></div>
    <div><strong><a class="xi2">user{number}</a></strong></div></td><td class="plc"><div class="authi">
    <em id="authorposton{number}">发表于 {when}</em> <a href="forum.php?authorid=1">只看该作者</a></div>
    <div class="pct"><div class="pcb">{text}<div id="comment_{number}" class="cm">{remarks}{pager}</div>
    <div id="post_rate_div_{number}"></div></div></div></td></tr></table></div>"""


def thread(*posts: str, pager: str = "") -> str:
    return f"""<base href="https://forum.example/">{TRAIL}<div id="ct"><div id="pgt">{pager}</div><div id="postlist">
    <table><tr><td><div class="hm"><span>查看:</span> <span class="xi1">91</span><span>回复:</span>
    <span class="xi1">14</span></div></td><td><h1><span id="thread_subject">标题</span></h1></td></tr></table>
    {"".join(posts)}<div id="postlistreply"></div></div></div>"""


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("/thread-12-1-1.html", ("post", "12", 1)),
        ("/thread-12-1-9.html", ("post", "12", 1)),
        ("/forum.php?mod=viewthread&tid=12", ("post", "12", 1)),
        ("/forum.php?mod=viewthread&tid=12&extra=page%3D2#pid99", ("post", "12", 1)),
        ("/archiver/?tid-12.html", ("post", "12", 1)),
        ("/thread-12-3-9.html", ("comment", "12", 3)),
        ("/forum.php?mod=viewthread&tid=12&extra=page%3D2&page=10", ("comment", "12", 10)),
        ("/forum-4-1.html", ("list", "4", 1)),
        ("/forum.php?mod=forumdisplay&fid=4&page=2", ("list", "4", 2)),
        ("/forum.php?mod=redirect&tid=12&goto=lastpost", None),
        ("/home.php?mod=space&uid=12", None),
    ],
)
def test_all_addresses_of_a_thread_name_the_same_page(address: str, named: tuple[str, str, int] | None) -> None:
    assert DISCUZ.named(address) == named


def test_the_rows_of_a_board_are_read() -> None:
    late = row(
        2, when='<span title="2024-6-17">3&nbsp;天前</span>', last='<span title="2024-6-20 10:31">1 小时前</span>'
    )

    parsed = DISCUZ.parse(Stage.LIST, "3", listing(row(1), late))

    first, second = parsed.items.posts
    assert (first.post_id, first.forum_id, first.title, first.author) == ("1", "3", "标题 <1>", "陈默")
    assert (first.created_at, first.last_reply_at) == (1714492800, 1714698480)
    assert (first.reply_count, first.view_count) == (12, 66)
    assert (second.created_at, second.last_reply_at) == (1718553600, 1718850660)
    assert parsed.items.forums[0].title == "版块"


def test_the_row_of_a_thread_that_was_moved_away_is_left_to_its_new_board() -> None:
    parsed = DISCUZ.parse(Stage.LIST, "3", listing(row(480, count="-", to=338), row(1)))

    assert [one.post_id for one in parsed.items.posts] == ["1"]


@pytest.mark.parametrize(
    ("kind", "icon", "board"),
    [
        ("stickthread", "tpin tpin1", "3"),
        ("stickthread", "tpin tpin2", None),
        ("stickthread", "tpin tpin3", None),
        ("stickthread", "fico-lock", None),
        ("normalthread", "fico-lock", "3"),
    ],
)
def test_a_thread_pinned_everywhere_is_not_taken_from_its_board(kind: str, icon: str, board: str | None) -> None:
    parsed = DISCUZ.parse(Stage.LIST, "3", listing(row(1, kind=kind, icon=icon)))

    assert parsed.items.posts[0].forum_id == board
    assert [child.key for child in parsed.children] == ["1"]


def test_a_board_without_threads_is_empty() -> None:
    assert DISCUZ.parse(Stage.LIST, "3", listing()).items.posts == ()


def test_only_the_threads_pager_leads_on() -> None:
    one = DISCUZ.parse(Stage.POST, "7", thread(post(70, remarks=remark("a", "b"))))
    three = DISCUZ.parse(Stage.POST, "7", thread(post(70), pager=PAGER))

    assert one.children == ()
    assert [(child.page, child.address) for child in three.children] == [
        (2, "https://forum.example/thread-7-2-1.html"),
        (3, "https://forum.example/thread-7-3-1.html"),
    ]


def test_the_first_post_is_the_thread_and_the_others_are_replies() -> None:
    quote = """<div class="quote"><blockquote><a href="forum.php?mod=redirect&amp;goto=findpost&amp;pid=70&amp;ptid=7">
    wendy</a> theirs</blockquote></div><br><i class="pstatus"> 本帖最后由 x 于 2024-5-2 0:35 编辑 </i>mine
    <div class="blockcode"><ol><li>one<li>two</ol><em>复制代码</em></div><img file="data/a.png" src="none.gif">"""
    page = thread(post(70), post(71, body=quote, when='<span title="2024-6-20 10:31:05">1 小时前</span>'))

    parsed = DISCUZ.parse(Stage.POST, "7", page)

    only, reply = parsed.items.posts[0], parsed.items.comments[0]
    assert (only.title, only.author, only.body, only.forum_id, only.view_count) == ("标题", "user70", "正文", "3", 91)
    assert (only.created_at, only.edited_at, only.state) == (1714547527, None, "normal")
    assert (reply.comment_id, reply.parent_id, reply.author, reply.body) == ("71", "70", "user71", "mine\none\ntwo")
    assert (reply.created_at, reply.edited_at) == (1718850665, 1714581300)
    assert found_extra(reply) == {"images": "https://forum.example/data/a.png"}


def test_remarks_are_comments_of_the_post_they_stand_below() -> None:
    page = thread(post(70, remarks=remark("a", "on the thread")), post(71, remarks=remark("b", "on the reply")))

    upper, reply, lower = DISCUZ.parse(Stage.POST, "7", page).items.comments

    assert (upper.parent_id, upper.author, upper.body, upper.created_at) == (None, "a", "on the thread", 1714626300)
    assert (reply.comment_id, reply.author, reply.body, reply.depth) == ("71", "user71", "正文", 0)
    assert (lower.parent_id, lower.author, lower.body, lower.depth) == ("71", "b", "on the reply", 1)


def test_a_remark_keeps_its_id_while_its_time_is_told_otherwise() -> None:
    soon = remark("a", "x", '<span title="2024-6-20 10:31">1 小时前</span>')
    late, other = remark("a", "x", "2024-6-20 10:31"), remark("a", "y", "2024-6-20 10:31")

    pages = [DISCUZ.parse(Stage.COMMENT, "7", thread(post(71, remarks=one)), page=2) for one in (soon, late, other)]

    ids = [page.items.comments[1].comment_id for page in pages]
    assert ids[0] == ids[1] != ids[2]


def test_a_masked_reply_is_marked_and_has_no_text() -> None:
    masked = '<div class="locked">提示: <em>该帖被管理员或版主屏蔽</em></div>'

    parsed = DISCUZ.parse(Stage.POST, "7", thread(post(70), post(71, body=masked, remarks=remark("a", "b"))))

    reply, below = parsed.items.comments
    assert (reply.author, reply.state, reply.body) == ("user71", "masked", None)
    assert (below.state, below.body) == ("normal", "b")


@pytest.mark.parametrize(
    ("more", "raised"), [("", Gone), ('<div id="messagelogin"></div>', AccessDenied)], ids=["gone", "login"]
)
@pytest.mark.parametrize(("stage", "page"), [(Stage.POST, 1), (Stage.COMMENT, 2)])
def test_walls_are_told_from_threads(stage: Stage, page: int, more: str, raised: type[Exception]) -> None:
    wall = f'<div id="ct"><div id="messagetext" class="alert_error"><p>抱歉</p></div>{more}</div>'

    with pytest.raises(raised):
        DISCUZ.parse(stage, "7", wall, page=page)
