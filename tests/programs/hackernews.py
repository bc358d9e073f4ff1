"""Hacker News: a story takes two rows of a table, a comment's depth is the width of an empty cell."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from tests.programs.content import Content, Said, Topic
from tests.programs.host import Answer, Ask, page

SIZE = 30
BOARDS = {"newest": 1, "ask": 2, "show": 3}
FRAME = """<html lang="en" op="{op}"><head><meta name="referrer" content="origin"><title>Our news</title></head><body><center>
<table id="hnmain" border="0" width="85%"><tr><td bgcolor="#ff6600"><table><tr><td><span class="pagetop"><b class="hnname">
<a href="news">Our news</a></b><a href="newest">new</a> | <a href="front">past</a> | <a href="newcomments">comments</a> |
<a href="ask">ask</a> | <a href="show">show</a> | <a href="submit">submit</a></span></td><td><span class="pagetop">
<a href="login?goto=news">login</a></span></td></tr></table></td></tr><tr id="bigbox"><td>{body}</td></tr></table></center>
</body></html>"""


def age(number: int, at: int) -> str:
    there = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}"
    return f'<span class="age" title="{there} {at}"><a href="item?id={number}">1 year ago</a></span>'


def html(said: Said) -> str:
    return "<p>".join(map(escape, said.lines))


class HackerNews:
    """Stories are told by their numbers, and their text stands where a link would."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def answer(self, ask: Ask) -> Answer:
        if ask.path == "/item":
            topic = self._content.visible.get(ask.number("id", 0))
            return page("No such item.") if topic is None else self._item(topic)
        board = BOARDS.get(ask.path.removeprefix("/") or "newest")
        return page("Unknown.", 404) if board is None else self._listing(ask, board)

    def _listing(self, ask: Ask, board: int) -> Answer:
        rows = [topic for topic in self._content.listed(board) if topic.board == board]
        numbers = [topic.number for topic in rows]
        start = numbers.index(ask.number("next", 0)) if "next" in ask.query else 0
        following = numbers[start + SIZE] if start + SIZE < len(rows) else 0
        more = f'<a href="newest?next={following}&amp;n=31" class="morelink" rel="next">More</a>'
        body = "".join(self._head(one) + '<tr class="spacer"></tr>' for one in rows[start : start + SIZE])
        last = f'<tr class="morespace"></tr><tr><td></td><td class="title">{more}</td></tr>' if following else ""
        return page(FRAME.format(op="newest", body=f"<table>{body}{last}</table>"))

    def _head(self, topic: Topic) -> str:
        first, count = topic.said[0], len(topic.said) - 1
        told = f"{count}&nbsp;comments" if count else "discuss"
        return f"""<tr class="athing submission" id="{topic.number}"><td class="title"><span class="rank">1.</span></td><td
          class="votelinks"></td><td class="title"><span class="titleline"><a href="item?id={topic.number}">{escape(topic.title)}</a>
          </span></td></tr><tr><td colspan="2"></td><td class="subtext"><span class="subline"><span class="score"
          id="score_{topic.number}">3 points</span> by <a href="user?id=x" class="hnuser">{escape(first.author)}</a>
          {age(topic.number, first.at)} | <a href="hide?id={topic.number}&amp;goto=newest">hide</a> |
          <a href="item?id={topic.number}">{told}</a></span></td></tr>"""

    def _item(self, topic: Topic) -> Answer:
        text = f'<tr><td colspan="2"></td><td><div class="toptext">{html(topic.said[0])}</div></td></tr>'
        comments = "".join(self._comment(said, depth) for said, depth in self._tree(topic, topic.said[0].number, 0))
        body = f"""<table class="fatitem" border="0">{self._head(topic)}{text}<tr><td colspan="2"></td><td><form action="comment">
          </form></td></tr></table><br><table border="0" class="comment-tree">{comments}</table>"""
        return page(FRAME.format(op="item", body=body))

    def _tree(self, topic: Topic, above: int, depth: int) -> Iterator[tuple[Said, int]]:
        for said in topic.said[1:]:
            if (said.quotes or topic.said[0].number) == above:
                yield said, depth
                yield from self._tree(topic, said.number, depth + 1)

    def _comment(self, said: Said, depth: int) -> str:
        return f"""<tr class="athing comtr" id="{said.number}"><td><table border="0"><tr><td class="ind" indent="{depth}"><img
          src="s.gif" height="1" width="{40 * depth}"></td><td class="votelinks"></td><td class="default"><div><span
          class="comhead"><a href="user?id=x" class="hnuser">{escape(said.author)}</a> {age(said.number, said.at)}</span></div>
          <br><div class="comment"><div class="commtext c00">{html(said)}</div><div class="reply"><p><font size="1"><u>
          <a href="reply?id={said.number}">reply</a></u></font></div></div></td></tr></table></td></tr>"""
