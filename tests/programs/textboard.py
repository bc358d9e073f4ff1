"""Text boards after 2channel: a board is one list of links with numbers around titles, which lead to the last replies.

A thread's whole is at the address above. A post is a term and its description, whose number no attribute has.
"""

from __future__ import annotations

import re
from html import escape

from tests.programs.content import Board, Content, Said, Topic
from tests.programs.host import Answer, Ask, page
from tests.programs.layouts import Layout, Part, Shown, lines, moment

SHOWN = 10
DAYS = "月火水木金土日"


def _frame(title: str, body: str) -> str:
    return f"""<html lang=ja><head><title>{escape(title)}</title></head><body><table border=1><tr><td>なるほど告知欄じゃねーの</td></tr></table>
      <hr>{body}<hr><div align=right><a href="http://zerochplus.example/">ぜろちゃんねる</a> BBS.CGI - 0.7.4</div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    links = "<br>".join(f'<a href="/{board.slug}/">{escape(board.title)}</a>' for board in boards)
    return _frame("掲示板一覧", f"<h1>掲示板一覧</h1><p>{links}</p>")


def _list(board: Board, part: Part) -> str:
    rows = "\n".join(
        f'<a href="/test/read.cgi/{board.slug}/{one.number}/l50" target=_blank>{at}: {escape(one.title)}({len(one.said)})</a>&nbsp;&nbsp;'
        for at, one in enumerate(part.items, 1)
    )
    return _frame(
        board.title, f"<h1>{escape(board.title)}</h1><div class=threads><small>{rows or 'ありません'}</small></div>"
    )


def _thread(topic: Topic, board: str, said: list[tuple[int, Said]]) -> str:
    own = f"/test/read.cgi/{board}/{topic.number}/"
    posts = "".join(
        f"<dt>{at} ：<a href='mailto:sage'><b>{escape(one.author)}</b></a>：{_time(one)} ID:{one.number:08d}0</dt><dd> {lines(one)} <br><br></dd>"
        for at, one in said
    )
    return _frame(
        topic.title,
        f"""<div><a href="/{board}/">■掲示板に戻る■</a> <a href="{own}">全部</a> <a href="{own}1-100">1-</a> <a href="{own}l50">最新50</a></div><hr>
          <h1>{escape(topic.title)}</h1><dl class=thread>{posts}</dl><form method=post action=/test/bbs.cgi><input type=submit value=書き込む><input
          name=FROM><input name=mail><textarea name=MESSAGE></textarea></form>""",
    )


def _time(said: Said) -> str:
    at = moment(said.at)
    return f"{at:%Y/%m/%d}({DAYS[at.weekday()]}) {at:%H:%M:%S}.{said.number % 100:02d}"


class _Board(Shown):
    def answer(self, ask: Ask) -> Answer:
        """Answer with the first post and the last ones, or with the whole thread at the address above."""
        found = re.fullmatch(r"/test/read\.cgi/(\w+)/(\d+)/(l50|1-100)?", ask.path)
        topic = self._content.visible.get(int(found[2])) if found else None
        if found is None or topic is None:
            return super().answer(ask)
        said = [*enumerate(topic.said, 1)]
        return page(_thread(topic, found[1], said if found[3] != "l50" else [said[0], *said[1:][-SHOWN:]]))


class _Textboard(Layout):
    def shown(self, content: Content) -> Shown:
        return _Board(self, content)


def _whole(ask: Ask, size: int) -> int:
    return 0


TEXTBOARD = _Textboard(
    _front, _list, lambda *_: "", r"/(?P<board>general|talk|nobody)/$", r"/test/read\.cgi/\w+/(?P<topic>\d+)/", _whole,
    per_list=1000,
)  # fmt: skip
