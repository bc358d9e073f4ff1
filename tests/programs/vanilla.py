"""Vanilla 2: the front page lists all discussions with a pager, categories stand beside, and the post stands apart."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import PER_LIST, Layout, Part, lines, moment

ACTS = r"/post/|/discussion/(?:bookmark|getnew)|/messages/|/entry/|TransientKey="


def _frame(boards: tuple[Board, ...], body: str) -> str:
    rows = "".join(
        f'<li class="Depth1"><a class=ItemLink href="/categories/{one.slug}">{escape(one.title)} <span class=Aside><span class=Count>12</span>'
        "</span></a></li>"
        for one in boards
    )
    return f"""<html><head><title>Our club</title></head><body><div id=Head><a href="/">Our club</a> <a href="/discussions">Discussions</a>
      <a href="/activity">Activity</a> <a href="/entry/signin">Sign In</a></div><div id=Content>{body}</div><div id=Panel><div class=BoxCategories>
      <h4>Categories</h4><ul class=PanelInfo>{rows}</ul></div></div><div id=Foot>Powered by <a href="https://vanillaforums.org">Vanilla</a></div>"""


BOARDS = (Board(1, "General", "general"), Board(2, "Talk & more", "talk", parent=1), Board(3, "Nobody", "nobody"))


def _front(content: Content) -> str:
    topics = sorted(content.visible.values(), key=lambda one: -one.last.at)
    return _frame(
        BOARDS,
        _rows(Part(topics[:PER_LIST], 0, len(topics), PER_LIST))
        + _pager("/discussions", Part(topics[:PER_LIST], 0, len(topics), PER_LIST)),
    )


def _url(topic: Topic) -> str:
    return f"/discussion/{topic.number}/{topic.slug or 'x'}"


def _rows(part: Part) -> str:
    rows = "".join(
        f"""<li id=Discussion_{one.number} class="Item{" Announcement" * one.is_pinned}"><span class=Options><a class=Bookmark
          href="/discussion/bookmark/{one.number}?TransientKey=ab12" title=Bookmark>Bookmark</a></span><div class=ItemContent><div class=Title><a
          href="{_url(one)}">{escape(one.title)}</a></div><div class=Meta><span class="MItem ViewCount"><span class=Number>1{one.number}7</span> views
          </span><span class="MItem CommentCount"><span class=Number>{len(one.said) - 1}</span> comments</span><span class="MItem DiscussionAuthor">
          Started by <a href="/profile/m{one.number}">{escape(one.said[0].author)}</a></span><span class="MItem LastCommentBy">Most recent by <a
          href="/profile/m{one.last.number}">{escape(one.last.author)}</a></span><span class="MItem LastCommentDate"><time
          datetime="{moment(one.last.at).isoformat()}">{moment(one.last.at):%B %d}</time></span><span class="MItem Category"><a
          href="/categories/{BOARDS[one.board - 1].slug}">{escape(BOARDS[one.board - 1].title)}</a></span></div></div></li>"""
        for one in part.items
    )
    return f"<ul class=Discussions>{rows}</ul>" if rows else "<div class=Empty>No discussions were found.</div>"


def _list(board: Board, part: Part) -> str:
    head = (
        f'<h1 class=HomepageTitle>{escape(board.title)}</h1><a href="/post/discussion/{board.slug}">New Discussion</a>'
    )
    return _frame(BOARDS, f"{head}{_rows(part)}{_pager(f'/categories/{board.slug}', part)}")


def _thread(topic: Topic, part: Part) -> str:
    first, board = topic.said[0], BOARDS[topic.board - 1]
    head = f"""<div id=Discussion_{topic.number} class="Item ItemDiscussion"><div class=Meta><span class=Author><a
      href="/profile/m{first.number}">{escape(first.author)}</a></span> {_time(first)} in <a href="/categories/{board.slug}">{escape(board.title)}</a></div>
      <div class=Message>{lines(first)}</div><div class=Reactions><a href="/post/quote/{topic.number}">Quote</a></div></div>"""
    comments = "".join(
        f"""<li id=Comment_{one.number} class="Item ItemComment"><div class=Meta><span class=Author><a
          href="/profile/m{one.number}">{escape(one.author)}</a></span> <a class=Permalink
          href="/discussion/comment/{one.number}/#Comment_{one.number}">{_time(one)}</a></div><div class=Message>{_quote(one)}{lines(one)}</div><div
          class=Reactions><a href="/post/quote/{one.number}">Quote</a></div></li>"""
        for one in part.items
        if one is not first
    )
    trail = f'<span class=Breadcrumbs><a href="/">Home</a> › <a href="/categories/{board.slug}">{escape(board.title)}</a></span>'
    return _frame(
        BOARDS,
        f"""{trail}<h1>{escape(topic.title)}</h1>{head if part.start == 0 else ""}<h2>Comments</h2><ul class=Comments>{comments}</ul>
          {_pager(_url(topic), part)}""",
    )


def _quote(one: Said) -> str:
    return "<blockquote class=Quote><div class=QuoteAuthor>x said:</div>old</blockquote>" if one.quotes else ""


def _time(one: Said) -> str:
    return f'<time datetime="{moment(one.at).isoformat()}">{moment(one.at):%B %Y}</time>'


def _pager(where: str, part: Part) -> str:
    count = -(-part.total // part.size)
    cells = "".join(f'<a href="{where}/p{at}">{at}</a>' for at in range(1, count + 1))
    after = f'<a class=Next href="{where}/p{part.number + 1}" rel=next>»</a>' if part.has_more else ""
    return f"<div class=Pager>{cells}{after}</div>" if count > 1 else ""


def _start(ask: Ask, size: int) -> int:
    found = re.search(r"/p(\d+)$", ask.path)
    return (int(found[1]) - 1) * size if found else 0


VANILLA = Layout(
    lambda _: "", _list, _thread, r"/categories/(?P<board>\w+)", r"/discussion/(?P<topic>\d+)/", _start, newest=_front
)
