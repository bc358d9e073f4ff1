"""A forum as V2EX: the front page lists the newest threads of all boards, and links to the boards stand beside."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Content, Topic
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import by_parameter

NEWEST = 20


def _frame(body: str) -> str:
    return f"""<html lang=zh-CN><head><title>V站</title></head><body><div id=Top><a href="/">V站</a> <a href="/signup">注册</a>
      <a href="/signin">登录</a></div><div id=Wrapper>{body}</div><div id=Bottom><a href="/about">关于</a></div></body></html>"""


def _front(content: Content) -> str:
    newest = sorted(content.visible.values(), key=lambda one: -one.last.at)[:NEWEST]
    nodes = "".join(f'<a class=node href="/go/{one.slug}">{escape(one.title)}</a> ' for one in content.boards)
    return _frame(
        f"""<div class=box>{"".join(_row(one, content.board(one.board)) for one in newest)}</div><div class=box><table><tr>
          <td>节点导航</td><td>{nodes}</td></tr></table></div>"""
    )


def _row(topic: Topic, board: Board | None) -> str:
    node = f'<a class=node href="/go/{board.slug}">{escape(board.title)}</a> &nbsp;•&nbsp; ' if board else ""
    count = len(topic.said) - 1
    link = f"/t/{topic.number}"
    return f"""<div class="cell item"><table><tr><td><a href="/member/m{topic.said[0].number}">头像</a></td><td><span class=item_title><a
      class=topic-link href="{link}">{escape(topic.title)}</a></span><span class=topic_info>{node}<strong><a
      href="/member/m{topic.said[0].number}">{escape(topic.said[0].author)}</a></strong> <span
      title="{_time(topic.last.at)}">{moment(topic.last.at):%m-%d}</span></span></td><td>{_count(link, count)}</td></tr></table></div>"""


def _count(link: str, count: int) -> str:
    return f'<a class=count_livid href="{link}">{count}</a>' if count else ""


def _list(board: Board, part: Part) -> str:
    pager = "".join(
        f'<a class=page_normal href="/go/{board.slug}?p={at}">{at}</a>' for at in range(1, _pages(part) + 1)
    )
    return _frame(
        f"""<div class=node-header><h1>{escape(board.title)}</h1></div><div id=TopicsNode>{"".join(_row(one, None) for one in part.items)}
          </div><div class=inner>{pager if _pages(part) > 1 else ""}</div>"""
    )


def _pages(part: Part) -> int:
    return -(-part.total // part.size)


def _thread(topic: Topic, part: Part) -> str:
    first = topic.said[0]
    replies = "".join(
        f"""<div id=r_{one.number} class=cell><strong><a href="/member/m{one.number}">{escape(one.author)}</a></strong> <span class=ago
          title="{_time(one.at)}">{moment(one.at):%m-%d}</span><span class=no>{at}</span><div class=reply_content>{lines(one)}</div></div>"""
        for at, one in enumerate(part.items, part.start)
        if one is not first
    )
    head = f"""<div class=header><h1>{escape(topic.title)}</h1><small><a href="/member/m{first.number}">{escape(first.author)}</a> · <span
      title="{_time(first.at)}">{moment(first.at):%m-%d}</span></small></div><div class=topic_content>{lines(first)}</div>"""
    return _frame(f"<div class=box>{head}</div><div class=box>{replies}</div>")


def _time(at: int) -> str:
    return f"{moment(at):%Y-%m-%d %H:%M:%S} +00:00"


V2EX = Layout(
    lambda _: "", _list, _thread, r"/go/(?P<board>\w+)", r"/t/(?P<topic>\d+)", by_parameter("p"), per_thread=1000, per_list=8,
    newest=_front,
)  # fmt: skip
