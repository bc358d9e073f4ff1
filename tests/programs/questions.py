"""Question2Answer: each answer stands in a form, and a category's own page shows the newest questions alone."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, page
from tests.programs.layouts import Layout, Part, Shown, cut, lines, moment

_SHOWN = 10
_FORM = """<div class=c-form id=c{0}><h2>Your comment on this answer:</h2><form method=post><table><tr><td><textarea
  name=c{0}></textarea></td></tr><tr><td>Your name to display (optional):</td></tr><tr><td><input name=name{0}></td></tr></table></form></div>"""


def _frame(body: str) -> str:
    return f"""<html><head><title>Our questions</title></head><body><form><input type=text name=q></form><ul><li><a
      href="/questions">Questions</a></li><li><a href="/users">Users</a></li></ul><h1>Our questions</h1>{body}</body></html>"""


def _time(at: int, name: str = "dateCreated") -> str:
    there = datetime.fromtimestamp(at, UTC).isoformat()
    return f'<time itemprop={name} datetime="{there}" title="{there}">{moment(at):%b %d, %Y}</time>'


def _who(author: str) -> str:
    return f'<span class=who>by <a href="/user/{escape(author).replace(" ", "%20")}" class=user-link>{escape(author)}</a></span>'


def _row(one: Topic) -> str:
    return f"""<div class=q-list-item id=q{one.number}><div class=a-count><span class=a-count-data>{len(one.said) - 1}</span> answers</div>
      <div class=q-item-main><div class=q-item-title><a href="/{one.number}/{_slug(one)}">{escape(one.title)}</a></div><span
      class=what>asked</span> <span class=when>{_time(one.said[0].at)}</span> <span class=where>in <a
      href="/cat{one.board}" class=category-link>category {one.board}</a></span> {_who(one.said[0].author)}</div></div>"""


def _slug(one: Topic) -> str:
    return (
        "-".join("".join(char if char.isascii() and char.isalnum() else " " for char in one.title).lower().split())
        or "x"
    )


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(f'<li><a href="/cat{one.number}" class=category-link>{escape(one.title)}</a></li>' for one in boards)
    return _frame(f"<h2>Categories</h2><ul class=categories>{rows}</ul>")


def _list(board: Board, part: Part) -> str:
    here = f"/questions/cat{board.number}?start={part.start + part.size}"
    more = f'<ul class=page-links><li><a href="{here}">next &raquo;</a></li></ul>' if part.has_more else ""
    return _frame(f"<h2>All questions in {escape(board.title)}</h2>{''.join(map(_row, part.items))}{more}")


def _newest(board: Board, topics: list[Topic]) -> str:
    rows = "".join(map(_row, topics[:_SHOWN]))
    return _frame(
        f"""<h2>Recent questions in {escape(board.title)}</h2>{rows}<div class=suggest>To see more, click for all the
        <a href="/questions/cat{board.number}">questions in this category</a>.</div>"""
    )


def _thread(topic: Topic, part: Part) -> str:
    question, *answers = part.items
    said = "".join(_post(one, "a", _FORM.format(one.number)) for one in answers)
    return _frame(
        f"""<h2 class=q-title><a href="/{topic.number}/{_slug(topic)}">{escape(topic.title)}</a></h2>{_post(question, "q", "")}
        <h3>{len(answers)} Answers</h3><div id=a_list>{said}</div>"""
    )


def _post(one: Said, kind: str, form: str) -> str:
    quote = "" if one.quotes is None else f"<blockquote>{one.quotes} said so</blockquote>"
    edited = f"<br><span class=what>edited</span> {_time(one.edited_at, 'dateModified')}" if one.edited_at else ""
    return f"""<div class={kind}-list-item id={kind}{one.number}><form method=post><div class=voting id=voting_{one.number}><input
      type=submit name=vote value="+"><span>0 votes</span></div></form><div class={kind}-item-main><form method=post><span
      class=meta><span class=what>answered</span> <span class=when>{_time(one.at)}</span> {_who(one.author)}{edited}</span><div
      class="{kind}-item-content post-content"><a name={one.number}></a><div itemprop=text>{quote}{lines(one)}</div></div><input
      type=submit value=comment><input type=hidden name=code value=0-17></form>{form}</div></div>"""


class _Questions(Shown):
    def __init__(self, layout: Layout, content: Content) -> None:
        super().__init__(layout, content)
        self._boards = {f"/cat{board.number}": board for board in content.boards}
        self._all = content

    def answer(self, ask: Ask) -> Answer:
        board = self._boards.get(ask.path)
        if board is None:
            return super().answer(ask)
        there = [one for one in self._all.listed(board.number) if one.board == board.number]
        return page(_newest(board, cut(there, 0, len(there) or 1).items))


class _QuestionsLayout(Layout):
    def shown(self, content: Content) -> Shown:
        return _Questions(self, content)


def _start(ask: Ask, _: int) -> int:
    return ask.number("start", 0)


QUESTIONS = _QuestionsLayout(
    _front,
    _list,
    _thread,
    r"/questions/cat(?P<board>\d+)",
    r"/(?P<topic>\d+)/",
    _start,
    per_thread=1000,
)
