"""Misago 0.39: pages of a thread by number, of a list by a start."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.host import Ask
from tests.programs.layouts import Layout, Part, lines, moment
from tests.programs.parts import plain


def _frame(body: str, following: str = "") -> str:
    more = f'<link rel="next" href="{following}">' if following else ""
    return f"""<html><head><title>Our forum</title>{more}<script>window.misago_locale = "en";</script></head><body><nav
      id="misago-navbar"></nav><div id="misago-container">{body}</div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f'<li><a href="/c/{one.slug}/{one.number}/">{escape(one.title)}</a></li>' for one in boards if not one.parent
    )
    subs = "".join(
        f'<li><a class="subcategory" href="/c/{one.slug}/{one.number}/">{escape(one.title)}</a></li>'
        for one in boards
        if one.parent
    )
    return _frame(f'<ul class="list-group-category">{rows}{subs}</ul>')


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<li id="threads-item-{one.number}" class="threads-list-item{" thread-flag-pinned-locally" * one.is_pinned}
          {" thread-flag-closed" * one.is_locked}"><a class="threads-list-item-title" href="/t/{one.slug}/{one.number}/">{escape(one.title)}</a>
          <a class="threads-list-item-category" href="/c/{board.slug}/{board.number}/">x</a><span class="threads-replies"><span
          class="material-icon">chat</span>{len(one.said) - 1}</span><a class="threads-list-item-last-activity"
          title="{plain(one.last.at)}"></a></li>"""
        for one in part.items
    )
    following = f"/c/{board.slug}/{board.number}/?start={part.start + part.size}" if part.has_more else ""
    return _frame(
        f'<div class="page-header-banner"><h1>{escape(board.title)}</h1></div><div class="threads-list"><ul>{rows}</ul></div>',
        following,
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(one: Said) -> str:
        quote = '<aside class="quote-block"><blockquote><p>old</p></blockquote></aside>' * bool(one.quotes)
        return f"""<li id="post-{one.number}" class="post"><a href="/u/x/2/"><span itemprop="author">{escape(one.author)}</span></a><time
          itemprop="datePublished" datetime="{moment(one.at):%Y-%m-%dT%H:%M:%S}Z">long ago</time><article class="misago-markup">{quote}<p>
          {lines(one)}</p></article></li>"""

    count = -(-part.total // part.size)
    return _frame(
        f"""<ol><li class="breadcrumbs-item"><a href="/c/x/{topic.board}/">Board</a></li></ol><h1>{escape(topic.title)}</h1><nav
          class="thread-paginator"><div class="dropdown"><button>Page {part.number} of {count}</button></div></nav><ul>
          {"".join(map(post, part.items))}</ul>"""
    )


def _by_place(ask: Ask, size: int) -> int:
    found = re.match(r"/t/[^/]*/\d+/(\d+)/", ask.path)
    return (int(found[1]) - 1) * size if found else ask.number("start", 0)


MISAGO = Layout(_front, _list, _thread, r"/c/[^/]+/(?P<board>\d+)", r"/t/[^/]*/(?P<topic>\d+)", _by_place, per_list=20
)  # fmt: skip
