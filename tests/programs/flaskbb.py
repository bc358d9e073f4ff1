"""FlaskBB 2 with aurora: a topic counts its first post among its posts."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, by_page, lines, moment
from tests.programs.parts import page_links


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title><link href="/static/flaskbb.css"></head><body>{body}<footer>powered by
      <a href="https://flaskbb.org">FlaskBB</a></footer></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<div class="category-row row forum-row"><div class="forum-name"><a href="/forum/{one.number}-{one.slug}">{escape(one.title)}</a>
          </div></div>"""
        for one in boards
    )
    return _frame(f'<div class="category-body">{rows}</div>')


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<div class="row forum-row"><span class="{"topic-starred" * one.is_pinned}"></span><span class="{"topic-locked" * one.is_locked}"></span>
          <div class="topic-info"><div class="topic-name"><a href="/topic/{one.number}-{one.slug}">{escape(one.title)}</a></div><div
          class="topic-author">by {escape(one.said[0].author)}</div></div><div class="topic-stats">{len(one.said)}</div><div
          class="topic-stats">1{one.number}7</div><div class="topic-last-post"><a href="/post/{one.last.number}">3 days ago</a></div></div>"""
        for one in part.items
    )
    return _frame(
        f"""<div class="page-header">{escape(board.title)}</div>{rows or '<div class="row forum-row">No topics.</div>'}
          <ul class="pagination">{page_links(f"/forum/{board.number}?page=", part)}</ul>"""
    )


def _thread(topic: Topic, part: Part) -> str:
    def when(at: int) -> str:
        return f"{moment(at):%d %B %Y - %H:%M}"

    def post(one: Said) -> str:
        edited = f"<small>Edited: {when(one.edited_at or 0)} by x</small>"
        return f"""<div class="row post-row" id="pid{one.number}"><div class="author-name"><h4><a href="/user/x">{escape(one.author)}</a></h4></div>
          <div class="post-box"><div class="post-meta"><a href="/post/{one.number}">{when(one.at)}</a>{edited if one.edited_at else ""}</div>
          <div class="post-content">{"<blockquote><p>old</p></blockquote>" * bool(one.quotes)}<p>{lines(one)}</p><div class="post-signature">below all
          I write</div></div></div></div>"""

    return _frame(
        f"""<ol class="breadcrumb"><li><a href="/forum/{topic.board}-x">Board</a></li><li class="active">{escape(topic.title)}</li></ol>
          {"".join(map(post, part.items))}<ul class="pagination">{page_links(f"/topic/{topic.number}?page=", part)}</ul>"""
    )


FLASKBB = Layout(_front, _list, _thread, r"/forum/(?P<board>\d+)", r"/topic/(?P<topic>\d+)", by_page, per_list=20
)  # fmt: skip
