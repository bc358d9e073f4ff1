"""A forum that only scripts draw: each page is an empty frame, and its script asks an API for what it shows."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

from tests.unit.hostile_server import HostileServer, Visit

FRAME = b"""<!doctype html><html><head><meta charset=utf-8><title>forum</title>
<script src=/app.js defer></script></head>
<body><div id=app><noscript>Please switch JavaScript on.</noscript></div></body></html>"""
# The page of a thread shows comment page 1. Every text is set as text, never as markup.
SCRIPT = b"""
const app = document.getElementById('app'), [kind, key, page] = location.pathname.slice(1).split('/');
const put = (into, tag, name, text, data = {}) => {
  const one = into.appendChild(document.createElement(tag));
  one.className = name;
  one.textContent = text;
  Object.assign(one.dataset, data);
  return one;
};
const said = (into, one) => {
  put(into, 'b', 'author', one.author);
  put(into, 'time', 'created', one.created_at);
  put(into, 'div', 'body', one.body);
};
const comments = all => all.forEach(one => said(put(app, 'div', 'comment', '', {id: one.id}), one));
const ask = path => fetch(path, {headers: {'X-App': '1'}}).then(answer => answer.json());
const draw = {
  '': () => ask('/api/boards').then(boards => boards.forEach(one => {
    put(put(app, 'h2', 'board', ''), 'a', '', one.title).href = `/list/${one.id}/1`;
  })),
  list: () => ask(`/api/boards/${key}?page=${page}`).then(board => {
    board.threads.forEach(one => {
      const row = put(app, 'div', 'thread', '', {id: one.id, replies: one.replies});
      put(row, 'a', 'title', one.title).href = `/post/${one.id}`;
      put(row, 'span', 'by', one.author);
      put(row, 'time', 'at', one.created_at);
    });
    if (board.has_more) put(app, 'a', 'next', 'Next').href = `/list/${key}/${+page + 1}`;
    put(app, 'p', 'drawn', '');
  }),
  post: () => ask(`/api/threads/${key}`).then(thread => {
    put(app, 'h1', 'title', thread.title);
    said(put(app, 'article', '', ''), thread);
    put(app, 'nav', 'pages', '', {pages: thread.pages});
    return ask(`/api/threads/${key}/comments?page=1`).then(all => comments(all.comments));
  }).then(() => put(app, 'p', 'drawn', '')),
  comment: () => ask(`/api/threads/${key}/comments?page=${page}`).then(all => {
    comments(all.comments);
    put(app, 'p', 'drawn', '');
  }),
};
draw[kind]();
"""
SITE = """\
name: demo
base: {base}
private_hosts: ["{place}"]
boards: [1]
gate: {{window: 2, delay_s: 0, retry_base_s: 0.2}}
render: {{wait_for: .drawn, quiet_s: 0.1}}
list:
  address: /list/{{board}}/{{page}}
  record: .thread
  fields: {{post_id: {{attr: data-id}}, title: .title, reply_count: {{attr: data-replies}}}}
  revision: reply_count
  next: a.next
post:
  address: /post/{{post}}
  fields: {{title: h1.title, author: article .author, created_at: article .created, body: article .body}}
  pages: {{css: .pages, attr: data-pages}}
comment:
  address: /comment/{{post}}/{{page}}
  first_page: 2
  record: .comment
  fields: {{comment_id: {{attr: data-id}}, author: .author, created_at: .created, body: .body}}
"""
FROM_ANSWERS = """\
name: demo
base: {base}
private_hosts: ["{place}"]
boards: [1]
gate: {{window: 2, delay_s: 0, retry_base_s: 0.2}}
list:
  address: /list/{{board}}/{{page}}
  render: {{response: /api/boards/}}
  format: json
  record: {{json: threads}}
  fields: {{post_id: {{json: id}}, title: {{json: title}}, reply_count: {{json: replies}}}}
  revision: reply_count
  next: {{json: "has_more || null"}}
post:
  address: /post/{{post}}
  render: {{response: /api/threads/}}
  format: json
  fields: {{title: {{json: title}}, author: {{json: author}}, created_at: {{json: created_at}}, body: {{json: body}}}}
  pages: {{json: pages}}
comment:
  address: /comment/{{post}}/{{page}}
  render: {{response: /comments}}
  format: json
  record: {{json: comments}}
  fields: {{comment_id: {{json: id}}, author: {{json: author}}, created_at: {{json: created_at}}, body: {{json: body}}}}
  empty: {{json: "!comments && 'empty'"}}
"""
PER_PAGE = 3


def _said(number: int, text: str) -> dict[str, object]:
    return {
        "id": str(number),
        "author": f"作者{number % 5}",
        "created_at": f"2026-03-{number % 28 + 1:02d}T08:{number % 60:02d}:00Z",
        "body": f"{text} {number} <b>as text</b>",
    }


class ScriptForum:
    """A forum of which each page is a script, and its truth: threads by id, each with its comments."""

    def __init__(self, threads: int = 5, method: str = "GET") -> None:
        """Make a forum whose script asks its API by that method."""
        self._method = method
        self.threads = {
            str(number): _said(number, "post")
            | {
                "title": f"Thread {number}",
                "comments": [_said(100 * number + n, "comment") for n in range(number % 13)],
            }
            for number in range(1, threads + 1)
        }
        routes = {"/app.js": self._script}
        self.server = HostileServer(routes, otherwise=self._answer)

    def site(self, rules: str = SITE) -> str:
        return rules.format(base=self.server.base, place=self.server.place)

    def _script(self, visit: Visit) -> None:
        script = SCRIPT.replace(b"{headers:", b"{method: '%s', headers:" % self._method.encode())
        visit.reply(script, Content_Type="text/javascript")

    def _answer(self, visit: Visit) -> None:
        where = urlsplit(visit.target)
        if not where.path.startswith("/api/"):
            visit.reply(FRAME, Content_Type="text/html")
            return
        if visit.method != self._method:
            visit.reply(b"", "405 Method Not Allowed")
            return
        page = int(parse_qs(where.query).get("page", ["1"])[0])
        match where.path.split("/")[2:]:
            case ["boards"]:
                told: object = [{"id": "1", "title": "General"}]
            case ["boards", "1"]:
                rows = [one | {"id": key, "replies": len(one["comments"])} for key, one in self.threads.items()]
                told = {"threads": _of(rows, page), "has_more": len(rows) > page * PER_PAGE}
            case ["threads", key] if key in self.threads:
                thread = self.threads[key]
                pages = max(1, -(-len(thread["comments"]) // PER_PAGE))
                told = {name: value for name, value in thread.items() if name != "comments"} | {"pages": pages}
            case ["threads", key, "comments"] if key in self.threads:
                told = {"comments": _of(self.threads[key]["comments"], page)}
            case _:
                visit.reply(b"{}", "404 Not Found", Content_Type="application/json")
                return
        visit.reply(json.dumps(told).encode(), Content_Type="application/json")


def _of(rows: list, page: int) -> list:
    return rows[(page - 1) * PER_PAGE : page * PER_PAGE]
