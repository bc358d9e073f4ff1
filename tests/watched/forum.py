"""Small forums that fall ill and get well again: each has a port of its own, and a state that is set from outside."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import responses
from pathlib import Path
from urllib.parse import urlsplit

from crawl_tasks.local.redis_server import free_port
from tests.unit.hostile_server import HostileServer, Visit

HANGS_S = 30.0
BORN = time.time() - 86_400
STATUSES = {"dead_posts": 418, "ill_posts": 500, "board_denied": 403, "board_failing": 500, "board_gone": 404}
"""The status of each state that is only that: of the threads, or of the first board."""
_HTML = "text/html; charset=utf-8"
_WALL = "<html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/h/b/orchestrate'></script>"
EVERYWHERE: dict[str, tuple[int, str, dict[str, str]]] = {
    "denied": (403, "<html>no</html>", {}),
    "failing": (500, "<html>no</html>", {}),
    "busy": (503, "<html>no</html>", {}),
    "limited": (429, "<html>no</html>", {"Retry-After": "600"}),
    "maintenance": (200, "<html><title>Maintenance</title><h1>We are back soon</h1></html>", {}),
    "guest": (200, "<html><title>guest</title>please log in</html>", {}),
    "blank": (200, "", {}),
    "moved": (301, "", {"Location": "https://forum.invalid/"}),
    "walled": (302, "", {"Location": "/login"}),
    "circular": (302, "", {"Location": "?again"}),
    "challenged": (403, _WALL, {"Server": "cloudflare", "cf-mitigated": "challenge"}),
    "huge": (200, f"<html>{'large ' * 50_000}</html>", {}),
    "cut": (200, "<html>half of a page", {"Content-Length": "900"}),
    "undecodable": (200, "<html>this is no gzip</html>", {"Content-Encoding": "gzip"}),
    "picture": (200, "no page", {"Content-Type": "image/png"}),
}
"""Status, text and headers of each state that has one answer for all pages."""
NEW_COMMENT_S = 3.0
"""Time between two new comments of a forum, so that pages are wanted while a state lasts."""

RULES = """
timezone: UTC
interval: {min_s: 2, start_s: 2, max_s: 3}
list:
  address: /list/{board}/{page}
  title: h1.board-title
  record: table.threads tr.thread
  fields:
    post_id: {attr: data-post}
    title: a.title
    author: td.author a
    created_at: td.created time
    reply_count: td.replies
    last_reply_at: td.last time
  revision: [reply_count]
  walk: fan
  pages: {css: nav.pager, attr: data-pages}
post:
  address: /post/{post}
  record: article.post
  fields:
    title: h1.title
    author: a.author
    forum_id: {attr: data-board}
    created_at: .created time
    reply_count: .replies
    body: div.body
  pages: {css: nav.pager, attr: data-pages}
comment:
  address: /comment/{post}/{page}
  first_page: 2
  record: div.comment
  fields:
    comment_id: {attr: data-comment}
    author: .author
    created_at: .created time
    body: div.body
"""
"""The site file of all of them, without name, base, gate and boards."""


@dataclass
class Forum:
    """A forum of a few boards with a few threads each, which get new comments. `state` is its illness, empty for none.

    It makes its pages when they are asked for, since a person ends and begins an illness in the middle of a crawl.
    The illnesses: those of `EVERYWHERE` and `STATUSES`, hanging, redesigned, textless, uncounted, miscounted,
    board_empty, empty, threads_gone, mislabelled. `robots` is the text of robots.txt, or its status.
    """

    state: str = ""
    robots: str | int = 404
    latency_s: float = 0.0
    boards: int = 2
    threads: int = 3
    quiet: bool = False
    port: int = field(default_factory=free_port)
    asked: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.server: HostileServer | None = None
        self.began = time.time()

    def open(self) -> None:
        """Begin to answer."""
        self.server = HostileServer({"/robots.txt": self._serve}, otherwise=self._serve, port=self.port)

    def close(self) -> None:
        """Refuse connections."""
        if self.server is not None:
            self.server.stop()
            self.server = None

    def _serve(self, visit: Visit) -> None:
        visit.server.stopped.wait(HANGS_S if self.state == "hanging" else self.latency_s)
        path = urlsplit(visit.target).path
        status, text = self.answer(path)
        self.asked[status] += 1
        headers = {"Content-Type": _HTML}
        if self.state in EVERYWHERE and path != "/robots.txt":
            headers |= EVERYWHERE[self.state][2]
        data = text.encode("gb18030" if self.state == "mislabelled" else "utf-8")
        visit.reply(data, f"{status} {responses[status]}", **headers)

    def comments(self, thread: int) -> int:
        """Count the comments of a thread now: all threads get new ones in turn."""
        grown = 0 if self.quiet else int((time.time() - self.began) / NEW_COMMENT_S)
        number = (thread // 100 - 1) * self.threads + thread % 100
        return 2 + (grown + number) // (self.boards * self.threads)

    def answer(self, path: str) -> tuple[int, str]:
        """Return status and text of a page."""
        kind, _, rest = path.strip("/").partition("/")
        if kind == "robots.txt":
            return (self.robots, "") if isinstance(self.robots, int) else (200, self.robots)
        if self.state in EVERYWHERE:
            return EVERYWHERE[self.state][:2]
        if kind == "list":
            return self._list(int(rest.split("/")[0]))
        return self._post(int(rest)) if kind == "post" else (404, "")

    def _list(self, board: int) -> tuple[int, str]:
        if self.state in STATUSES and self.state.startswith("board") and board == 1:
            return STATUSES[self.state], ""
        is_empty = self.state == "empty" or (self.state == "board_empty" and board == 1)
        rows = "" if is_empty else "".join(map(self._row, range(board * 100, board * 100 + self.threads)))
        return 200, (
            f'<html><title>Board</title><h1 class="board-title">Board {board}</h1>'
            f'<table class="threads">{rows}</table><nav class="pager" data-pages="1"></nav></html>'
        )

    def _row(self, thread: int) -> str:
        count = self.comments(thread)
        listed = count * 3 + 5 if self.state == "miscounted" else count
        return (
            f'<tr class="thread" data-post="{thread}">'
            f'<td><a class="title" href="/post/{thread}">Thread {thread}</a></td>'
            f'<td class="author"><a href="/u/7">ann</a></td><td class="created">{_time(BORN)}</td>'
            f'<td class="replies">{listed}</td><td class="last">{_time(BORN + count)}</td></tr>'
        )

    def _post(self, thread: int) -> tuple[int, str]:
        if self.state in ("dead_posts", "ill_posts"):
            return STATUSES[self.state], ""
        if self.state == "threads_gone" and thread < 200:
            return 404, ""
        if self.state == "redesigned":
            return 200, f'<html><title>Thread {thread}</title><main class="v2">{thread}</main></html>'
        body, comment = ("v2", "comment") if self.state == "textless" else ("body", "comment")
        if self.state == "uncounted":
            comment = "reply"
        count = self.comments(thread)
        comments = "".join(
            f'<div class="{comment}" data-comment="{thread}{number:05}"><span class="author">bob</span>'
            f'<div class="created">{_time(BORN + number)}</div><div class="{body}">comment {number}</div></div>'
            for number in range(count)
        )
        return 200, (
            f'<html><title>Thread {thread}</title><article class="post" data-board="{thread // 100}">'
            f'<h1 class="title">Thread {thread}</h1><a class="author" href="/u/7">ann</a>'
            f'<div class="created">{_time(BORN)}</div><span class="replies">{count}</span>'
            f'<div class="{body}">Text of {thread}, größer als 中文</div></article>'
            f'<nav class="pager" data-pages="1"></nav>{comments}</html>'
        )


def _time(at: float) -> str:
    return f'<time datetime="{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}">x</time>'


def write_site(
    directory: Path, name: str, port: int, gate: str = "", more: str = "", base: str = "http://127.0.0.1:{port}"
) -> None:
    """Write the site file of a forum."""
    head = (
        f"name: {name}\nbase: {base.format(port=port)}\nboards: [1, 2]\n"
        f'private_hosts: ["127.0.0.1:{port}"]\n'
        f"gate: {{window: 4, delay_s: 0.1, deadline_s: 3, retry_base_s: 0.5, retry_max_s: 2{gate}}}\n"
    )
    (directory / f"{name}.yaml").write_text(head + RULES + more, "utf-8")
