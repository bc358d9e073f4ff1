"""Phorum 5: numbers of board, thread and message stand behind commas, and messages are numbered like threads."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment


def _frame(body: str) -> str:
    return f"""<html><head><title>Our list</title></head><body><div id=phorum><div class=nav><a href="/">Forum List</a> <a
      href="/search.php">Search</a> <a href="/login.php">Log In</a></div>{body}<div id=footer>This forum powered by <a
      href="http://www.phorum.org/">Phorum</a>.</div></div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td><h3><a href="/list.php?{one.number}">{escape(one.title)}</a></h3><p>About it</p></td><td nowrap>12</td><td nowrap>77</td><td nowrap
          >26/06/24 20:07</td></tr>"""
        for one in boards
    )
    return _frame(
        f"<table class=list><tr><th>Forums</th><th>Threads</th><th>Posts</th><th>Last Post</th></tr>{rows}</table>"
    )


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td class=subject><h4><a href="/read.php?{board.number},{one.number}">{escape(one.title)}</a></h4></td><td nowrap>{escape(one.said[0].author)}
          </td><td align=center>1{one.number}7</td><td align=center>{len(one.said)}</td><td nowrap>{_time(one.last.at)}<br><span class=recent>Last Post
          by <a href="/read.php?{board.number},{one.number},{one.last.number}#msg-{one.last.number}">{escape(one.last.author)}</a></span></td></tr>"""
        for one in part.items
    )
    head = "<tr><th>Subject</th><th>Author</th><th>Views</th><th>Posts</th><th>Last Post</th></tr>"
    none = "<tr><td colspan=5>No messages posted.</td></tr>"
    return _frame(
        f"""<h1>{escape(board.title)}</h1><a href="/posting.php?{board.number}">New Topic</a><table class=list>{head}{rows or none}</table>
          {_pager(f"/list.php?{board.number}", part)}"""
    )


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(_post(topic, one) for one in part.items)
    title = {1: "General", 2: "Talk &amp; more"}[topic.board]
    return _frame(
        f"""<div class=nav><a href="/">Forums</a> &gt; <a href="/list.php?{topic.board}">{title}</a></div><h1>{escape(topic.title)}</h1>{posts}
          {_pager(f"/read.php?{topic.board},{topic.number}", part)}"""
    )


def _post(topic: Topic, one: Said) -> str:
    where = f"{topic.board},{topic.number},{one.number}"
    return f"""<a name=msg-{one.number}></a><div class=message><div class=generic><table><tr><td><h4><a href="/read.php?{where}#msg-{one.number}">{escape(topic.title)}
      </a></h4></td></tr><tr><td>Posted by: <strong>{escape(one.author)}</strong></td></tr><tr><td>Date: {_time(one.at)}</td></tr></table></div><div
      class=message-body>{lines(one)}<div class=message-options><a href="/posting.php?{where}">Reply</a> <a href="/posting.php?{where},quote=1">Quote</a>
      </div></div></div>"""


def _pager(where: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = "".join(
        f"<strong>{at}</strong> " if at == part.number else f'<a href="{where},page={at}">{at}</a> '
        for at in range(1, count + 1)
    )
    after = f'<a class="icon icon-next" href="{where},page={part.number + 1}">Next</a>' if part.has_more else ""
    return f"<div class=paging>Page {part.number} of {count} Pages: {cells}{after}</div>" if count > 1 else ""


def _time(at: int) -> str:
    return f"{moment(at):%B %d, %Y %I:%M%p}"


def _start(ask: Ask, size: int) -> int:
    found = re.search(r"page$", next(iter(ask.query), ""))
    return (int(next(iter(ask.query.values()))) - 1) * size if found else 0


PHORUM = Layout(_front, _list, _thread, r"/list\.php\?(?P<board>\d+)", r"/read\.php\?\d+,(?P<topic>\d+)(?!,\d)", _start)
