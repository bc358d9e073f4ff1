"""A forum whose replies name what they answer by its number on the page, which no rule can look up."""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, page
from tests.programs.layouts import moment

FRAME = "<!DOCTYPE html><html><head><title>{title}</title></head><body><p><a href=/>Home</a></p>{body}</body></html>"


class Numbered:
    """One list page a board and one page a thread: the markup is what matters here."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def answer(self, ask: Ask) -> Answer:
        if ask.path == "/":
            return self._front()
        found = re.fullmatch(r"/(board|thread)/(\d+)", ask.path)
        if found and found[1] == "board" and int(found[2]) in {board.number for board in self._content.boards}:
            return self._board(self._content.board(int(found[2])))
        if found and found[1] == "thread" and int(found[2]) in self._content.visible:
            return self._thread(self._content.visible[int(found[2])])
        return page(FRAME.format(title="Not found", body="<p id=no-such-thread>No such thread.</p>"), 200)

    def _front(self) -> Answer:
        boards = "".join(
            f'<li><a href="/board/{one.number}">{escape(one.title)}</a></li>' for one in self._content.boards
        )
        return page(FRAME.format(title="Numbered", body=f"<h1>Boards</h1><ul class=boards>{boards}</ul>"))

    def _board(self, board: Board) -> Answer:
        topics = [topic for topic in self._content.listed(board.number) if topic.board == board.number]
        rows = "".join(
            f'<tr><td class=title><a href="/thread/{one.number}">{escape(one.title)}</a></td>'
            f"<td class=who>{escape(one.said[0].author)}</td><td class=replies>{len(one.said) - 1}</td>"
            f"<td class=last>{moment(one.last.at):%Y-%m-%d %H:%M}</td></tr>"
            for one in topics
        )
        table = f"<table class=threads>{rows}</table>" if topics else "<p class=none>No threads yet.</p>"
        return page(FRAME.format(title=escape(board.title), body=f"<h1>{escape(board.title)}</h1>{table}"))

    def _thread(self, topic: Topic) -> Answer:
        first, replies = topic.said[0], topic.said[1:]
        place = {said.number: number for number, said in enumerate(replies, start=1)}
        rows = "".join(_row(said, number, place.get(said.quotes or 0)) for number, said in enumerate(replies, start=1))
        body = (
            f"<h1>{escape(topic.title)}</h1><div class=first><p class=by>{escape(first.author)}, {moment(first.at):%Y-%m-%d %H:%M}"
            f"</p><div class=text>{_text(first)}</div></div><table class=replies>{rows}</table>"
        )
        return page(FRAME.format(title=escape(topic.title), body=body))


def _text(said: Said) -> str:
    return "<br>".join(map(escape, said.lines))


def _row(said: Said, number: int, answers: int | None) -> str:
    mark = f" data-answers={answers}" if answers else ""
    return (
        f"<tr id=r{said.number} data-number={number}{mark}><td class=who>{escape(said.author)}</td>"
        f"<td class=when>{moment(said.at):%Y-%m-%d %H:%M}</td><td class=text>{_text(said)}</td></tr>"
    )
