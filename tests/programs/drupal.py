"""A forum as Drupal 7: replies in boxes by depth, links to them at other addresses, ages of two parts in lists."""

from __future__ import annotations

import time
from html import escape

from tests.programs.content import Board, Said, Topic
from tests.programs.layouts import BERLIN, Layout, Part, lines, moment
from tests.programs.parts import by_parameter

_UNITS = (("year", 31_536_000), ("month", 2_592_000), ("week", 604_800), ("day", 86_400), ("hour", 3600), ("min", 60))


def _frame(body: str) -> str:
    return f"""<html><head><title>Our forum</title></head><body><div id=header><a href="/">Our forum</a> <a href="/user/login">Log in</a>
      </div><div id=main>{body}</div></body></html>"""


def _front(boards: tuple[Board, ...]) -> str:
    rows = "".join(
        f"""<tr><td class=container><div class=name><a href="/forum/{one.number}">{escape(one.title)}</a></div><div>About it</div></td>
          <td class=topics>3</td><td class=posts>12</td></tr>"""
        for one in boards
    )
    return _frame(f"<table id=forum-0><tbody>{rows}</tbody></table>")


def _list(board: Board, part: Part) -> str:
    rows = "".join(
        f"""<tr><td class=icon>Normal</td><td class=title><div><a href="/node/{one.number}">{escape(one.title)}</a></div><div>{_by(one.said[0])}
          </div></td><td class=replies>{len(one.said) - 1}</td><td class=last-reply>{_by(one.last)}</td></tr>"""
        for one in part.items
    )
    none = "<p>No topics here.</p>"
    table = f"<table><tbody>{rows}</tbody></table>" if rows else none
    return _frame(f"<h1 class=title>{escape(board.title)}</h1>{table}{_pager(f'/forum/{board.number}', part)}")


def _by(one: Said) -> str:
    return f"<span class=submitted>By {_person(one)} {_age(one.at)} ago</span>"


def _person(one: Said) -> str:
    return f'<a href="/user/{len(one.author)}" class=username>{escape(one.author)}</a>'


def _age(at: int) -> str:
    left, parts = int(time.time()) - at, []
    for name, one_s in _UNITS:
        if left >= one_s and len(parts) < 2:
            count, left = divmod(left, one_s)
            parts.append(f"{count} {name}{'s' * (count > 1)}")
    return " ".join(parts)


def _thread(topic: Topic, part: Part) -> str:
    first = topic.said[0]
    replies = "".join(_comment(one) for one in part.items if one is not first)
    head = f"""<div class=node><div class="meta submitted"><span property="dc:date dc:created" content="{_iso(first)}">Submitted by
      {_person(first)} on {_said(first)}</span></div><div class=content><div class=field-label>Forums: </div><ul class=links><li><a
      href="/forum/{topic.board}">Board</a></li></ul><div class=field-items><div class="field-item even">{lines(first)}</div></div></div></div>"""
    return _frame(
        f"""<h1 class=title>{escape(topic.title)}</h1>{head}<div id=comments class=comment-wrapper>{replies}</div>
          {_pager(f"/node/{topic.number}", part)}"""
    )


def _comment(one: Said) -> str:
    link = f"/comment/{one.number}#comment-{one.number}"
    body = f"""<a id=comment-{one.number}></a><div class=comment><div class=attribution><p class=commenter-name>{_person(one)}</p><p
      class=comment-time><span property="dc:date dc:created" content="{_iso(one)}">{_said(one)}</span></p><p class=comment-permalink>
      <a href="{link}" class=permalink>Permalink</a></p></div><div class=comment-text><h3><a href="{link}" class=permalink>
      {escape((one.text or "Reply")[:20])}</a></h3><div class=content><div class="field-item even">{lines(one)}</div></div>
      <ul class=links><li><a href="/user/login?destination=x">Log in</a> to post comments</li></ul></div></div>"""
    return f"<div class=indented>{body}</div>" if one.quotes else body


def _iso(one: Said) -> str:
    return f"{moment(one.at):%Y-%m-%dT%H:%M:%S}+00:00"


def _said(one: Said) -> str:
    return f"{moment(one.at, BERLIN):%a, %m/%d/%Y - %H:%M}"


def _pager(where: str, part: Part) -> str:
    following = f'<a href="{where}?page={part.number}">next ›</a>' if part.has_more else ""
    return f"<ul class=pager><li>{part.number}</li><li>{following}</li></ul>" if part.total > part.size else ""


DRUPAL = Layout(
    _front, _list, _thread, r"/forum/(?P<board>\d+)", r"/node/(?P<topic>\d+)", by_parameter("page", first=0)
)  # fmt: skip
