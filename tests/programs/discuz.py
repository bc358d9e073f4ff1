"""Discuz! X with its default template: addresses rewritten, dates of UTC+8."""

from __future__ import annotations

import re
from datetime import timedelta, timezone
from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import last

SHANGHAI = timezone(timedelta(hours=8))


def _chinese(at: int) -> str:
    there = moment(at, SHANGHAI)
    return f"{there.year}-{there.month}-{there.day} {there:%H:%M:%S}"


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title><meta name="generator" content="Discuz! X3.5"><script>var discuz_uid = '0';</script>
      </head><body id="nv_forum"><div id="ct">{body}</div><div id="ft">Powered by Discuz!<p class="xs0">GMT+8, 2026-1-21 12:06</p></div>
      </body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td><h2><a href="forum-{one.number}-1.html">{escape(one.title)}</a></h2></td><td class="fl_i"><span>3</span> / 9</td>
          <td class="fl_by">-</td></tr>"""
        for one in boards
    )
    return _frame(f'<table class="fl_tb">{rows}</table>')


def _pager(address: str, part: Part) -> str:
    links = "".join(
        f'<a href="{address.format(at)}">{at}</a>' if at != part.number else f"<strong>{at}</strong>"
        for at in range(1, last(part) + 1)
    )
    following = f'<a href="{address.format(part.number + 1)}" class="nxt">下一页</a>' if part.has_more else ""
    return f'<div id="pgt"><div class="pg">{links}{following}</div></div>' if last(part) > 1 else ""


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tbody id="{"stick" if one.is_pinned else "normal"}thread_{one.number}"><tr><td class="icn">
          {'<i class="tpin tpin1"></i>' * one.is_pinned}{'<i class="fico-lock"></i>' * one.is_locked}</td><th><a class="s xst"
          href="thread-{one.number}-1-1.html">{escape(one.title)}</a></th><td class="by"><cite><a>{escape(one.said[0].author)}</a></cite>
          <em><span>{_chinese(one.said[0].at)}</span></em></td><td class="num"><a class="xi2">{len(one.said) - 1}</a><em>1{one.number}7</em></td>
          <td class="by"><cite><a>{escape(one.last.author)}</a></cite><em><a href="#last">{_chinese(one.last.at)}</a></em></td></tr></tbody>"""
        for one in part.items
    )
    return _frame(
        f"""<h1><a href="forum-{board.number}-1.html">{escape(board.title)}</a></h1><div id="threadlist"><table>{rows}</table></div>
          {_pager(f"forum-{board.number}-{{}}.html", part)}"""
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(one: Said) -> str:
        quote = f"""<div class="quote"><blockquote><a href="forum.php?mod=redirect&amp;goto=findpost&amp;pid={one.quotes}&amp;ptid=1">x</a> old
          </blockquote></div>"""
        edited = f'<i class="pstatus">本帖最后由 x 于 {moment(one.edited_at or 0, SHANGHAI):%Y-%m-%d %H:%M} 编辑</i>'
        return f"""<div id="post_{one.number}"><table><tr><td><div class="authi"><a href="space-uid-2.html" class="xw1">{escape(one.author)}
          </a></div></td><td><em id="authorposton{one.number}">发表于 {_chinese(one.at)}</em><div class="pcb"><table><tr><td class="t_f"
          id="postmessage_{one.number}">{edited if one.edited_at else ""}{quote if one.quotes else ""}{lines(one)}</td></tr></table></div></td></tr>
          </table></div>"""

    return _frame(
        f"""<div id="pt"><a href="forum-{topic.board}-1.html">Board</a></div>{_pager(f"thread-{topic.number}-{{}}-1.html", part)}
          <div id="postlist"><table><tr><td><div class="hm">查看: <span class="xi1">1{topic.number}7</span></div></td><td><span
          id="thread_subject">{escape(topic.title)}</span></td></tr></table>{"".join(map(post, part.items))}</div>"""
    )


def _by_path(ask: Ask, size: int) -> int:
    found = re.match(r"/(?:forum|thread)-\d+-(\d+)", ask.path)
    return (int(found[1]) - 1) * size if found else 0


DISCUZ = Layout(
    _front, _list, _thread, r"/forum-(?P<board>\d+)-\d+\.html", r"/thread-(?P<topic>\d+)-\d+-\d+\.html", _by_path, per_list=20
)  # fmt: skip
