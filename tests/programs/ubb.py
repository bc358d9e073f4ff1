"""UBB.threads 7: a thread is named by any of its posts, so that links to last posts look like links to threads."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment

HOME = "/ubbthreads.php"
NEWEST = 5


def _frame(body: str) -> str:
    return f"""<html><head><title>Our threads</title></head><body><table class=navigation><tr><td><a href="{HOME}">Forums</a> <a
      href="{HOME}/calendar">Calendar</a> <a href="{HOME}/activetopics/7/1">Active Threads</a> <a href="{HOME}/newuser">Register</a></td></tr></table>{body}<div
      class=footer>Powered by UBB.threads</div></body></html>"""


def _url(topic: Topic, said: Said | None = None) -> str:
    number = topic.number if said is None or said is topic.said[0] else said.number
    again = "re-" if said is not None and said is not topic.said[0] else ""
    return f"{HOME}/topics/{number}/{again}a-{topic.slug}"


def _front(content: Content) -> str:
    rows = "".join(
        f"""<tr><td class=newicon><img alt=""></td><td class=forumtitle><a href="{HOME}/forums/{one.number}/1/{one.slug}">{escape(one.title)}</a><div
          class=forumdescript>About it</div></td><td class=threadtotal>12</td><td class=posttotal>77</td><td class=posttime>{_last(content, one)}</td></tr>"""
        for one in content.boards
    )
    newest = sorted(content.visible.values(), key=lambda one: -one.last.at)[:NEWEST]
    recent = "".join(
        f"""<div class=alt><a href="{_url(one, one.last)}#Post{one.last.number}">{escape(one.title)}</a><br>by {escape(one.last.author)}<br>{_time(one.last.at)}
          </div>"""
        for one in newest
    )
    return _frame(
        f"""<table><tr><td class=left><div class=island><h3>Recent Posts</h3>{recent}</div></td><td class=body><table class=t_outer><tr><td></td><td>Forum</td><td
          >Threads</td><td>Posts</td><td>Last Post</td></tr>{rows}</table></td></tr></table>"""
    )


def _last(content: Content, board: Board) -> str:
    topics = [one for one in content.listed(board.number) if one.board == board.number]
    one = max(topics, key=lambda topic: topic.last.at, default=None)
    return (
        f'<a href="{_url(one, one.last)}#Post{one.last.number}">{escape(one.title)}</a><br>{_time(one.last.at)}'
        if one
        else "-"
    )


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr id=postrow{one.number}><td class=newicon><img alt=""></td><td class=topicicon><img alt=""></td><td class=topicsubject><div><a
          href="{_url(one)}">{escape(one.title)}</a></div><div class=small>by <a href="{HOME}/users/{one.number}/x">{escape(one.said[0].author)}</a></div></td><td
          class=topicreplies>{len(one.said) - 1}</td><td class=topicviews>1{one.number}7</td><td class=topictime><a
          href="{_url(one, one.last)}#Post{one.last.number}">{_time(one.last.at)}</a><br>by {escape(one.last.author)}</td></tr>"""
        for one in part.items
    )
    head = "<tr><td></td><td></td><td>Thread</td><td>Replies</td><td>Views</td><td>Last Post</td></tr>"
    none = "<tr><td colspan=6>No posts in this forum.</td></tr>"
    return _frame(
        f"""<div class=breadcrumbs><a href="{HOME}">Forums</a> {escape(board.title)}</div><table class=t_inner>{head}{rows or none}</table>
          {_pager(f"{HOME}/forums/{board.number}/", f"/{board.slug}", part)}"""
    )


def _thread(topic: Topic, part: Part) -> str:
    board = {1: ("general", "General"), 2: ("talk", "Talk &amp; more")}[topic.board]
    posts = "".join(_post(topic, one) for one in part.items)
    return _frame(
        f"""<div class=breadcrumbs><a href="{HOME}">Forums</a> <a href="{HOME}/forums/{topic.board}/1/{board[0]}">{board[1]}</a> {escape(topic.title)}</div>
          <h1>{escape(topic.title)}</h1>{posts}{_pager(f"{HOME}/topics/{topic.number}/", "", part)}"""
    )


def _post(topic: Topic, one: Said) -> str:
    edited = f"<div class=editby>Last edited by x; {_time(one.edited_at)}.</div>" if one.edited_at else ""
    return f"""<div class=postrow id=Post{one.number}><table class=t_inner><tr><td class=subjecttable><div><a href="{_url(topic, one)}#Post{one.number}">
      {"" if one is topic.said[0] else "Re: "}{escape(topic.title)}</a></div><span class=date>{_time(one.at)}</span></td></tr><tr><td class=author-content><a
      href="{HOME}/users/{one.number}/x">{escape(one.author)}</a><div>Posts: 7</div></td><td class=post-content><div id=body{one.number}>{lines(one)}</div>{edited}<div
      class=post-buttons><a href="{HOME}/newreply/Board/{topic.board}/Number/{one.number}">Reply</a></div></td></tr></table></div>"""


def _pager(before: str, behind: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = " ".join(
        f"<b>{at}</b>" if at == part.number else f'<a href="{before}{at}{behind}">{at}</a>'
        for at in range(1, count + 1)
    )
    return f"<div class=pagination>Page {part.number} of {count} {cells}</div>" if count > 1 else ""


def _time(at: int) -> str:
    return f"{moment(at):%m/%d/%y %I:%M %p}"


def _start(ask: Ask, size: int) -> int:
    found = re.search(r"/forums/\d+/(\d+)/|/topics/\d+/(\d+)$", ask.path)
    return (int(found[1] or found[2]) - 1) * size if found else 0


UBB = Layout(
    lambda _: "",
    _list,
    _thread,
    rf"{HOME}/forums/(?P<board>\d+)/",
    rf"{HOME}/topics/(?P<topic>\d+)/",
    _start,
    newest=_front,
)
