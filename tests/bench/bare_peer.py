"""The bench forum crawled by a bare loop of libcurl, selectolax and SQLite: nothing shared, nothing durable. The floor.

    python -m crawl_tasks.demo --prerender --size bench --port 8766 &
    python tests/bench/bare_peer.py http://127.0.0.1:8766 /tmp/peer.db [BOARDS]
A forum of `--size long` has 91 boards.
Prints the rows stored and the CPU seconds of the process, imports included.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections import deque
from collections.abc import Mapping

import pycurl
from selectolax.lexbor import LexborHTMLParser, LexborNode

CONNECTIONS = 32
TABLES = ("posts", "comments")


def text(node: LexborNode, css: str) -> str | None:
    found = node.css_first(css)
    return None if found is None else found.text().strip()


def moment(node: LexborNode, css: str) -> str | None:
    found = node.css_first(f"{css} time")
    return None if found is None else found.attrs.get("datetime") or found.text().strip()


def body(node: LexborNode) -> str | None:
    found = node.css_first("div.body")
    return None if found is None else " ".join(found.text(separator=" ").split())


class Store:
    def __init__(self, file: str) -> None:
        self.database = sqlite3.connect(file)
        self.rows: dict[str, list[tuple[str | None, str]]] = {table: [] for table in TABLES}
        for table in TABLES:
            self.database.execute(f"create table {table} (id text primary key, fields text)")

    def keep(self, table: str, item: Mapping[str, object]) -> None:
        rows = self.rows[table]
        rows.append((str(item["id"]), json.dumps(item, ensure_ascii=False)))
        if len(rows) >= 500:
            self.flush()

    def flush(self) -> None:
        for table, rows in self.rows.items():
            self.database.executemany(f"insert or replace into {table} values (?, ?)", rows)
            rows.clear()
        self.database.commit()

    def count(self) -> str:
        counts = [self.database.execute(f"select count(*) from {table}").fetchone()[0] for table in TABLES]
        return f"{counts[0]} posts, {counts[1]} comments"


class Crawl:
    def __init__(self, base: str, store: Store, boards: int) -> None:
        self.base, self.store = base, store
        self.waiting = deque(f"/list/{board}/1" for board in range(1, boards + 1))
        self.seen = set(self.waiting)

    def enter(self, path: str) -> None:
        if path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)

    def run(self) -> None:
        multi, idle = pycurl.CurlMulti(), [pycurl.Curl() for _ in range(CONNECTIONS)]
        busy: dict[pycurl.Curl, tuple[str, list[bytes]]] = {}
        while self.waiting or busy:
            while self.waiting and idle:
                curl, path, pieces = idle.pop(), self.waiting.popleft(), list[bytes]()
                curl.setopt(pycurl.URL, self.base + path)
                curl.setopt(pycurl.WRITEFUNCTION, pieces.append)
                multi.add_handle(curl)
                busy[curl] = path, pieces
            multi.perform()
            _, done, failed = multi.info_read()
            if failed:
                raise SystemExit(f"{busy[failed[0][0]][0]}: {failed[0][2]}")
            for curl in done:
                multi.remove_handle(curl)
                idle.append(curl)
                path, pieces = busy.pop(curl)
                if curl.getinfo(pycurl.RESPONSE_CODE) == 200:
                    self.read(path, b"".join(pieces))
            if not done:
                multi.select(1.0)

    def read(self, path: str, raw: bytes) -> None:
        page = LexborHTMLParser(raw)
        _, kind, key, *_ = path.split("/")
        if kind == "list":
            self.read_list(page)
            return
        if kind == "post":
            self.read_post(key, page)
        self.read_comments(key, page)

    def read_list(self, page: LexborHTMLParser) -> None:
        for row in page.css("table.threads tr.thread"):
            post = row.attrs["data-post"]
            item = {
                "id": post,
                "title": text(row, "a.title"),
                "author": text(row, "td.author a"),
                "created": moment(row, "td.created"),
                "replies": text(row, "td.replies"),
                "views": text(row, "td.views"),
                "last": moment(row, "td.last"),
            }
            self.store.keep("posts", item)
            self.enter(f"/post/{post}")
        following = page.css_first("nav.pager a.next")
        if following is not None:
            self.enter(following.attrs["href"] or "")

    def read_post(self, post: str, page: LexborHTMLParser) -> None:
        article, pager = page.css_first("article.post"), page.css_first("nav.pager")
        assert article is not None
        item = {
            "id": article.attrs["data-post"],
            "board": article.attrs["data-board"],
            "title": text(article, "h1.title"),
            "author": text(article, "a.author"),
            "created": moment(article, ".created"),
            "views": text(article, ".views"),
            "replies": text(article, ".replies"),
            "body": body(article),
        }
        self.store.keep("posts", item)
        pages = int((pager.attrs.get("data-pages") if pager is not None else None) or 1)
        for number in range(2, pages + 1):
            self.enter(f"/comment/{post}/{number}")

    def read_comments(self, post: str, page: LexborHTMLParser) -> None:
        for position, comment in enumerate(page.css("div.comment")):
            shown = comment.attrs.get
            item = {
                "id": shown("data-comment"),
                "post": post,
                "parent": shown("data-parent"),
                "depth": shown("data-depth"),
                "state": shown("data-state"),
                "author": text(comment, ".author"),
                "created": moment(comment, ".created"),
                "body": body(comment),
                "position": position,
            }
            self.store.keep("comments", item)


if __name__ == "__main__":
    store = Store(sys.argv[2])
    Crawl(sys.argv[1], store, int(sys.argv[3]) if sys.argv[3:] else 10).run()
    store.flush()
    print(store.count())
    times = os.times()
    print(f"{times.user + times.system:.2f} CPU s")
