"""NodeBB 4 with Harmony: addresses with the words of the title, times in attributes."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, by_page, lines, moment
from tests.programs.parts import below, top


def _frame(body: str, following: str = "") -> str:
    more = f'<link rel="next" href="{following}">' if following else ""
    return f"""<html><head><title>Our forum</title><link rel="stylesheet" href="/assets/client.css">{more}</head><body><a
      component="navbar/title" href="/">Our forum</a>{body}<footer>Powered by <a href="https://nodebb.org">NodeBB</a></footer></body></html>"""


def _time(css: str, at: int) -> str:
    return f'<a class="timeago {css}" title="{moment(at):%Y-%m-%dT%H:%M:%S}.000Z"></a>'


def _front(boards: tuple[Board, ...]) -> str:
    def row(one: Board) -> str:
        subs = "".join(
            f'<li class="category-children-item"><a href="/category/{sub.number}/{sub.slug}">{escape(sub.title)}</a></li>'
            for sub in below(one, boards)
        )
        return f"""<li component="categories/category"><h2 class="title"><a href="/category/{one.number}/{one.slug}">{escape(one.title)}</a>
          </h2><ul>{subs}</ul><div class="stats"><div><span title="3">3</span></div><div><span title="9">9</span></div></div></li>"""

    return _frame(f"<ul>{''.join(map(row, top(boards)))}</ul>")


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<li component="category/topic" data-tid="{one.number}" class="category-item{" pinned" * one.is_pinned}{" locked" * one.is_locked}">
          <a href="/user/x" title="{escape(one.said[0].author)}"></a><h3 component="topic/header"><a
          href="/topic/{one.number}/{one.slug}">{escape(one.title)}</a></h3>{_time("d-none", one.said[0].at)}
          <div class="stats-postcount"><span title="{len(one.said)}">{len(one.said)}</span></div><div class="stats-viewcount"><span
          title="1{one.number}7"></span></div><div component="topic/teaser">{_time("", one.last.at)}</div></li>"""
        for one in part.items
    )
    following = f"/category/{board.number}/{board.slug}?page={part.number + 1}" if part.has_more else ""
    return _frame(
        f'<h1 class="tracking-tight">{escape(board.title)}</h1><ul component="category">{rows}</ul>', following
    )


def _thread(topic: Topic, part: Part) -> str:
    def post(place: int, one: Said) -> str:
        answered = (
            f'<a component="post/parent" data-parent-pid="{one.quotes}"></a>'
            if one.quotes != topic.said[0].number
            else ""
        )
        edited = f"Edited {moment(one.edited_at or 0):%d/%m/%Y, %H:%M}"
        return f"""<li component="post" data-index="{place}" data-pid="{one.number}" data-uid="2" data-username="{escape(one.author)}"
          data-timestamp="{one.at * 1000}"><strong>{escape(one.author)}</strong>{answered if one.quotes else ""}<i component="post/edit-indicator"
          class="{"" if one.edited_at else "hidden"}" title="{edited}"></i><div component="post/content"><p>{lines(one)}</p></div></li>"""

    posts = "".join(post(place, one) for place, one in enumerate(part.items, part.start))
    following = f"/topic/{topic.number}/{topic.slug}?page={part.number + 1}" if part.has_more else ""
    return _frame(
        f'<h1><span component="topic/title">{escape(topic.title)}</span></h1><ul component="topic" data-cid="{topic.board}">{posts}</ul>',
        following,
    )


NODEBB = Layout(
    _front, _list, _thread, r"/category/(?P<board>\d+)", r"/topic/(?P<topic>\d+)", by_page, per_list=20
)  # fmt: skip
