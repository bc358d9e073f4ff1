"""A forum that only scripts draw: what its pages show stands in their own JSON, or at addresses that a script names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tests.programs.content import Content, Said, Topic
from tests.programs.host import Answer, Ask, data, page
from tests.programs.layouts import moment

PER_LIST, PER_THREAD = 20, 8
FRAME = "<!DOCTYPE html><html><head><title>Our forum</title></head><body>{body}</body></html>"
Put = Callable[[str, str], str]
"""Makes a page of a state, as JSON, and a script."""

ROUTES = 'const routes = [["/b/:id", Board], ["/t/:id", Thread], ["/u/:id", User]];'
API = """const api = "/api"; const ask = path => fetch(path).then(one => one.json());
ask(api + "/boards"); const board = id => ask(`${{api}}/boards/${{id}}/threads{pager}`);
const thread = (id, at) => ask(api + "/threads/" + id{later}); ask("/api/me"); load("/static/app.css");"""


@dataclass(frozen=True)
class Pager:
    """How pages follow: the parameter of a page, its values for a start, and what an answer says of the next one."""

    name: str
    start_of: Callable[[str, int], int]
    told: Callable[[str, int, int, int], dict[str, object]]


def _numbered(text: str, size: int) -> int:
    return (int(text or 1) - 1) * size


def _more(_: str, start: int, size: int, total: int) -> dict[str, object]:
    return {"has_more": start + size < total}


PAGERS = {
    "pages": Pager("page", _numbered, _more),
    "pages from 0": Pager("page", lambda text, size: int(text or 0) * size, _more),
    "offsets": Pager("offset", lambda text, _: int(text or 0), lambda *told: {"total": told[3]}),
    "a cursor": Pager(
        "after", lambda text, _: int(text.lstrip("c") or 0),
        lambda _, start, size, total: {"next_cursor": f"c{start + size}" if start + size < total else None},
    ),
    "next links": Pager(
        "from", lambda text, _: int(text or 0),
        lambda url, start, size, total: {"links": {"next": f"{url}?from={start + size}" if start + size < total else None}},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class JsonForum:
    """The forum in one shape. `put` writes a page around its state, without one an API answers."""

    content: Content
    pager: Pager
    put: Put | None = None
    is_named: bool = True
    is_html: bool = False
    method: str = "GET"

    def answer(self, ask: Ask) -> Answer:
        found = re.fullmatch(
            r"/b/(\d+)|/t/(\d+)|/api/boards/(\d+)/threads|/api/threads/(\d+)|(/|/api/boards)", ask.path
        )
        is_api = ask.path.startswith("/api/")
        if found is None or (ask.path != "/" and is_api != (self.put is None)):
            return page("not here", 404)
        if is_api and self.method != "GET":
            return page("by POST alone", 405)
        board, topic = found[1] or found[3], found[2] or found[4]
        if (board and int(board) > len(self.content.boards)) or (topic and int(topic) not in self.content.visible):
            return page("not here", 404)
        told = self._board(ask, int(board)) if board else self._thread(ask, int(topic)) if topic else self._front()
        if is_api:
            return data(told)
        return page(
            self.put(json.dumps(told), ROUTES) if self.put else FRAME.format(body=f"<script>{self._script()}</script>")
        )

    def _script(self) -> str:
        pager = f"?{self.pager.name}=${{at}}" if self.is_named else ""
        later = f' + "?{self.pager.name}=" + at' if self.is_named else ""
        script = API.format(pager=pager, later=later)
        return script if self.method == "GET" else script.replace("fetch(path)", "fetch(path, {method: 'POST'})")

    def _front(self) -> object:
        boards = [{"id": one.number, "name": one.title, "about": "All of it"} for one in self.content.boards]
        return {"props": {"boards": boards}} if self.put else boards

    def _board(self, ask: Ask, number: int) -> dict[str, object]:
        topics = [one for one in self.content.listed(number) if one.board == number]
        start = self.pager.start_of(ask.query.get(self.pager.name, ""), PER_LIST)
        if self.is_html:
            rows = "".join(
                f"<li><a href=/t/{one.number}>{escape(one.title)}</a></li>" for one in _part(topics, start, PER_LIST)
            )
            return {"html": rows}
        return {"threads": [self._row(one) for one in _part(topics, start, PER_LIST)]} | self._next(
            ask, start, PER_LIST, len(topics)
        )

    def _row(self, topic: Topic) -> dict[str, object]:
        first = topic.said[0]
        return {"id": topic.number, "title": topic.title, "author": {"id": 7, "name": first.author},
                "createdAt": _when(first.at), "replies": len(topic.said) - 1, "lastReplyAt": _when(topic.last.at)}  # fmt: skip

    def _thread(self, ask: Ask, number: int) -> dict[str, object]:
        topic = self.content.visible[number]
        start = self.pager.start_of(ask.query.get(self.pager.name, ""), PER_THREAD)
        said = [_said(one) for one in _part(topic.said[1:], start, PER_THREAD)]
        first = _said(topic.said[0]) | {"id": topic.number, "title": topic.title}
        return {"thread": first, "comments": said} | self._next(ask, start, PER_THREAD, len(topic.said) - 1)

    def _next(self, ask: Ask, start: int, size: int, total: int) -> dict[str, object]:
        return self.pager.told(f"{ask.base}{ask.path}", start, size, total)


def _part(rows: Sequence[Any], start: int, size: int) -> list[Any]:
    return list(rows[start : start + size])


def _said(one: Said) -> dict[str, object]:
    body = "".join(f"<p>{escape(line)}</p>" for line in one.lines)
    return {"id": one.number, "author": {"id": 7, "name": one.author}, "createdAt": _when(one.at), "bodyHtml": body}


def _when(at: int) -> str:
    return f"{moment(at):%Y-%m-%dT%H:%M:%SZ}"


def in_script(state: str, script: str) -> str:
    told = f'<div id=__next></div><script id="__NEXT_DATA__" type="application/json">{state}</script>'
    return FRAME.format(body=f"{told}<script>{script}</script>")


def in_attribute(state: str, script: str) -> str:
    return FRAME.format(body=f'<div id="app" data-page="{escape(state)}"></div><script>{script}</script>')


def in_variable(state: str, script: str) -> str:
    return FRAME.format(body=f"<div id=app></div><script>window.__STATE__ = {state};</script><script>{script}</script>")
