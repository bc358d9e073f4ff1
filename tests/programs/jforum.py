"""JForum 2: a moved topic's notice on its old board has the topic's own address, and offsets stand in paths."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title></head><body><table class=bodyline><tr><td><a class=mainmenu href="/recentTopics/list.page">Recent
      Topics</a> <a class=mainmenu href="/user/login.page">Login</a></td></tr></table>{body}<p>Powered by
      <a href="http://www.jforum.net">JForum</a></p></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td class=row1><span class=forumlink><a class=forumlink href="/forums/show/{one.number}.page">{escape(one.title)}</a></span><br>
          <span class=genmed>About it</span></td><td class=row2><span class=gensmall>12</span></td></tr>"""
        for one in boards
    )
    return _frame(f"<table class=forumline><tr><th>Forums</th><th>Topics</th></tr>{rows}</table>")


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td class=row1><img alt=""></td><td class=row1><span class=topictitle><a href="/posts/list/{one.number}.page">
          {"[Moved] " * (one.board != board.number)}{escape(one.title)}</a></span></td><td class=row2><span
          class=postdetails>{len(one.said) - 1}</span></td><td class=row3><span class=name><a href="/user/profile/{one.number}.page">
          {escape(one.said[0].author)}</a></span></td><td class=row2><span class=postdetails>1{one.number}7</span></td><td
          class=row3Right><span class=postdetails>{_time(one.last.at)}<br><a href="/posts/preList/{one.number}/{one.last.number}.page">
          <img alt=""></a></span></td></tr>"""
        for one in part.items
    )
    head = "<tr><th></th><th>Topics</th><th>Answers</th><th>Author</th><th>Views</th><th>Last message</th></tr>"
    none = "<tr><td colspan=6>There are no messages</td></tr>"
    return _frame(
        f"""<a class=maintitle href="/forums/show/{board.number}.page">{escape(board.title)}</a>{_trail()}
          <table class=forumline>{head}{rows or none}</table>{_pager("/forums/show/", f"{board.number}.page", part)}"""
    )


def _trail(board: int | None = None) -> str:
    below = (
        f' &raquo; <a class=nav href="/forums/show/{board}.page">{ {1: "General", 2: "Talk"}[board] }</a>'
        if board
        else ""
    )
    return f'<p><a class=nav href="/">Forum Index</a>{below}</p>'


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(_post(topic, one) for one in part.items)
    return _frame(
        f"""<a class=maintitle href="/posts/list/{topic.number}.page">{escape(topic.title)}</a>{_trail(topic.board)}
          <table class=forumline><tr><th>Author</th><th>Message</th></tr>{posts}</table>
          {_pager("/posts/list/", f"{topic.number}.page", part)}"""
    )


def _post(topic: Topic, one: Said) -> str:
    edited = (
        f"<p class=gensmall>This message was edited 1 time. Last update was at {_time(one.edited_at)}</p>"
        if one.edited_at else ""
    )  # fmt: skip
    return f"""<tr><td class=row1><span class=name><a name={one.number}></a><b>{escape(one.author)}</b></span><br><span
      class=postdetails>Messages: 7</span></td><td class=row1><a href="/posts/list/{topic.number}.page#{one.number}"><img alt=""></a><span
      class=postdate>{_time(one.at)}</span><hr><span class=postbody>{lines(one)}</span>{edited}</td></tr>"""


def _pager(before: str, behind: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = " ".join(
        f"<b>{at + 1}</b>"
        if at + 1 == part.number
        else f'<a href="{before}{f"{at * part.size}/" if at else ""}{behind}">{at + 1}</a>'
        for at in range(count)
    )
    return f"<p class=pagination>Go to: {cells}</p>" if count > 1 else ""


def _time(at: int) -> str:
    return f"{moment(at):%d/%m/%Y %H:%M:%S}"


def _start(ask: Ask, _: int) -> int:
    found = re.search(r"/(\d+)/\d+\.page$", ask.path)
    return int(found[1]) if found else 0


JFORUM = Layout(
    _front, _list, _thread, r"/forums/show/(?:\d+/)?(?P<board>\d+)\.page", r"/posts/list/(?:\d+/)?(?P<topic>\d+)\.page", _start,
    has_notices=True,
)  # fmt: skip
