"""A forum whose comments only a script draws, replies within comments, from an API that takes the path of the page."""

from __future__ import annotations

import json
import time
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.unit.hostile_server import HostileServer, Visit

PAGE = """<!doctype html><html lang=en><head><meta charset=utf-8><title>Harbour talk</title>
<script src=/talk.js defer></script></head><body>{}</body></html>"""
# Lists and posts come as they are, or as a part that the script puts into an empty frame.
SCRIPT = b"""
const put = (into, tag, name, text, data = {}) => {
  const one = into.appendChild(document.createElement(tag));
  return Object.assign(one, {className: name, textContent: text}, data);
};
const card = (into, one) => {
  const box = put(into, 'div', 'card', '', {id: one.objectId});
  put(box, 'span', 'nick', one.nick);
  put(box, 'time', 'time', new Date(one.time).toISOString().slice(0, 10));
  put(box, 'div', 'text', '').innerHTML = one.html;
  const below = put(box, 'div', 'below', '');
  (one.replies || []).forEach(inner => card(below, inner));
};
const talk = () => {
  const into = document.getElementById('talk');
  if (!into) return;
  const asked = new URLSearchParams({path: location.pathname, pageSize: 4, page: 1});
  fetch(`/api/comment?${asked}`).then(answer => answer.json()).then(told => {
    told.data.list.forEach(one => card(into, one));
    if (told.data.count > 4) put(into, 'button', 'more', 'Load more');
  });
};
const frame = document.getElementById('frame');
if (frame) fetch(`/part${location.pathname}`).then(answer => answer.text()).then(part => {
  frame.innerHTML = part;
  talk();
});
else talk();
"""
THREADS, PER_PAGE = 16, 4
BEGAN = 1_717_000_000
NAMES = ("ann", "Bob Miller", "Jürgen", "wei", "Ines", "karl")
WORDS = ("boats", "harbour", "rope", "engine", "winter", "paint", "sails", "night", "crew", "map")


class Said(NamedTuple):
    """A post or comment. `parent` is the comment that it answers."""

    key: str
    author: str
    at: int
    text: str
    parent: str = ""


def _said(number: int, at: int, parent: str = "") -> Said:
    words = " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 9))
    return Said(str(number), NAMES[number % len(NAMES)], at, f"Of {words} I know {number}.", parent)


class DrawnComments:
    """A forum whose own pages have posts, and scripts the comments. With `is_framed` scripts draw all of it.

    Its truth: the posts, and the comments of each by id.
    """

    def __init__(self, *, is_framed: bool = False, as_json: bool = True) -> None:
        self._is_framed, self._type = is_framed, "application/json" if as_json else "text/plain"
        self.posts = {str(n): _said(n, BEGAN + 90_000 * n) for n in range(1, THREADS + 1)}
        self.comments: dict[str, list[Said]] = {key: [] for key in self.posts}
        for key, post in self.posts.items():
            for n in range(5 * int(key) % 11):
                parent = str(100 * int(key) + n - 1) if n % 3 == 2 else ""
                self.comments[key].append(_said(100 * int(key) + n, post.at + 4000 * (n + 1), parent))
        self.server = HostileServer(otherwise=self._answer)

    def _answer(self, visit: Visit) -> None:
        where = urlsplit(visit.target)
        match where.path.split("/")[1:]:
            case ["talk.js"]:
                visit.reply(SCRIPT, Content_Type="text/javascript")
            case ["api", "comment"]:
                query = {name: values[0] for name, values in parse_qs(where.query).items()}
                told = self._told(query["path"].rpartition("/")[2], int(query["page"]))
                visit.reply(json.dumps(told).encode(), Content_Type=self._type)
            case ["part", *path]:
                visit.reply(self._part(path).encode(), Content_Type="text/plain; charset=utf-8")
            case path if part := self._part(path):
                text = PAGE.format("<div id=frame></div>" if self._is_framed else part)
                visit.reply(text.encode(), Content_Type="text/html; charset=utf-8")
            case _:
                visit.reply(b"", "404 Not Found")

    def _part(self, path: list[str]) -> str:
        match path:
            case [""]:
                return "<ul><li><a href=/board/1>Boats</a><li><a href=/board/2>Harbour</a></ul>"
            case ["board", number]:
                rows = [self._row(key) for key in sorted(self.posts, key=int) if int(key) % 2 == int(number) % 2]
                return f"<table>{''.join(rows)}</table>"
            case ["topic", key] if key in self.posts:
                one = self.posts[key]
                said = (
                    f"<h1>{_title(key)}</h1><p class=who>{one.author}</p>{_moment(one)}<div class=said>{one.text}</div>"
                )
                return f"<article>{said}</article><section id=talk></section>"
        return ""

    def _row(self, key: str) -> str:
        one = self.posts[key]
        return f"<tr><td><a href=/topic/{key}>{_title(key)}</a><td class=by>{one.author}<td>{_moment(one)}"

    def _told(self, key: str, page: int) -> object:
        def record(one: Said) -> dict[str, object]:
            pid = one.parent or None
            return {"html": f"<p>{escape(one.text)}</p>", "nick": one.author, "pid": pid, "objectId": one.key,
                    "time": 1000 * one.at}  # fmt: skip

        below: dict[str, list[object]] = {}
        for one in self.comments[key]:
            below.setdefault(one.parent, []).append(record(one))
        top = [record(one) | {"replies": below.get(one.key, [])} for one in self.comments[key] if not one.parent]
        return {"data": {"count": len(top), "list": top[PER_PAGE * (page - 1) : PER_PAGE * page]}}


def _title(key: str) -> str:
    return f"Asking about {WORDS[int(key) % len(WORDS)]} no {key}"


def _moment(one: Said) -> str:
    told = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one.at))
    return f"<time datetime={told}>{told[:10]}</time>"
