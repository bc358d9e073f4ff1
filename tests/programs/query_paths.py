"""A forum as Xiuno BBS: addresses are queries without names, and the front page lists the newest threads of all boards."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment

NEWEST = 10


def _frame(boards: str, body: str) -> str:
    return f"""<html lang=zh-CN><head><title>小站</title></head><body><header><div class=navbar><a href="./">小站</a>
      <a class=nav-link href="?index.htm">首页</a> {boards} <a class=nav-link href="?user-login.htm">登录</a>
      <a class=nav-link href="?user-create.htm">注册</a></div></header><main>{body}</main></body></html>"""


def _person(said: Said, css: str) -> str:
    return f'<a href="?user-{said.number % 7 + 1}.htm" class="{css}">{escape(said.author)}</a>'


def _time(at: int) -> str:
    return f'<span class="date">{moment(at):%Y-%m-%d %H:%M}</span>'


def _row(topic: Topic) -> str:
    first, last = topic.said[0], topic.last
    return f"""<li class="media thread" data-tid="{topic.number}"><a href="?user-{first.number % 7 + 1}.htm"><img src=a.png></a>
      <div class=media-body><div class=subject><a href="?thread-{topic.number}.htm">{escape(topic.title)}</a></div>
      <div class=small><span class=username>{escape(first.author)}</span> {_time(first.at)} <span>← <b>{escape(last.author)}</b>
      <i>{moment(last.at):%Y-%m-%d %H:%M}</i></span> <em class=replies>{len(topic.said) - 1}</em></div></div></li>"""


def _menu(boards: tuple[Board, ...]) -> str:
    return " ".join(f'<a class=nav-link href="?forum-{one.number}.htm">{escape(one.title)}</a>' for one in boards)


def _front(content: Content) -> str:
    newest = sorted(content.visible.values(), key=lambda one: -one.last.at)[:NEWEST]
    rows = "".join(map(_row, newest))
    more = " ".join(f'<a class=page-link href="?index-{at}.htm">{at}</a>' for at in (1, 2, 3))
    return _frame(_menu(content.boards), f"<ul class=threadlist>{rows}</ul><nav>{more}</nav>")


def _list(board: Board, part: Part) -> str:
    count = -(-part.total // part.size)
    numbers = [*range(1, count + 1), *([part.number + 1] if part.has_more else [])]
    links = " ".join(
        f'<li><a class=page-link href="?forum-{board.number}-{at}.htm&orderby=lastpid&digest=0">{text}</a></li>'
        for at, text in zip(numbers, [*map(str, range(1, count + 1)), "▶"], strict=False)
    )
    rows = "".join(map(_row, part.items)) or "<p>暂无</p>"
    pager = f"<ul class=pagination>{links}</ul>" if count > 1 else ""
    return _frame("", f"<h3>{escape(board.title)}</h3><ul class=threadlist>{rows}</ul>{pager}")


def _thread(topic: Topic, part: Part) -> str:
    first = topic.said[0]
    posts = "".join(
        f"""<li class="media post" data-pid="{one.number}"><div class=media-body><div class=small><span class=username>
          {_person(one, "font-weight-bold")}</span> {_time(one.at)}<span class=floor>{at + 1}楼</span></div>
          <div class="message mt-1">{lines(one)}</div></div></li>"""
        for at, one in enumerate(part.items, part.start)
        if one is not first
    )
    crumbs = f'<ol class=breadcrumb><li><a href="?forum-{topic.board}.htm">板块</a></li></ol>'
    head = f"""<div class="card card-thread"><div class=media-body><h4>{escape(topic.title)}</h4><div class=small><span class=username>
      {_person(first, "text-muted")}</span> {_time(first.at)}</div></div><hr><div class=message>{lines(first)}</div></div>"""
    return _frame("", f"{crumbs}{head}<ul class=postlist>{posts}</ul>")


def _start(ask: Ask, size: int) -> int:
    found = re.match(r"forum-\d+-(\d+)", next(iter(ask.query), ""))
    return (int(found[1]) - 1) * size if found else 0


QUERY_PATHS = Layout(
    lambda _: "", _list, _thread, r"/\?forum-(?P<board>\d+)", r"/\?thread-(?P<topic>\d+)\.htm", _start, per_thread=1000, per_list=8,
    newest=_front,
)  # fmt: skip
