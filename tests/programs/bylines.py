"""An archive made by a script: number, author and moment of a post in one text, and the board before the title."""

from __future__ import annotations

from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import Layout, Part, by_page
from tests.programs.subsilver import text_of, time_of

_BOARDS = {1: "General", 2: "Talk & more"}


def _frame(body: str) -> str:
    return (
        f"<html><head><title>Archive of our forum</title></head><body><h1>Archive of our forum</h1>{body}</body></html>"
    )


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(f'<li><a href="/category/{one.number}.html">{escape(one.title)}</a></li>' for one in boards)
    return _frame(f"<h2>Categories</h2><ul>{rows}</ul>")


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td><a href="/thread/{one.board}/{one.number}.html">{escape(one.title)}</a></td><td>{time_of(one.said[0].at)}</td><td>
          {len(one.said) - 1}</td></tr>"""
        for one in part.items
    )
    head = "<thead><tr><th>Title</th><th>Creation date</th><th>Replies</th></tr></thead>"
    more = f'<p><a href="/category/{board.number}.html?page={part.number + 1}">Next</a></p>' if part.has_more else ""
    return _frame(f"<h2>{escape(board.title)}</h2><table>{head}<tbody>{rows}</tbody></table>{more}")


def _thread(topic: Topic, part: Part) -> str:
    posts = "".join(map(_post, part.items))
    return _frame(f"<h2>{escape(_BOARDS[topic.board])} &gt;\n{escape(topic.title)}</h2><div id=posts>{posts}</div>")


def _post(one: Said) -> str:
    return f"""<div class=post><h4>#{one.number} -
      {escape(one.author)} -
      {time_of(one.at)}</h4><div class=postbody>{text_of(one)}</div></div>"""


BYLINES = Layout(
    _front,
    _list,
    _thread,
    r"/category/(?P<board>\d+)\.html",
    r"/thread/\d+/(?P<topic>\d+)\.html",
    by_page,
    per_thread=1000,
)
