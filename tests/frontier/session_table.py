"""`python -m tests.frontier.session_table`: each end of a session by each answer to guests, held against a truth.

A cell is `right` if all threads and comments of the forum are stored as members see them. It is `told` if what lacks is
named by a request that is open, parked or dead, by a problem that `check` shows, or by a counter. Else it is `SILENT`.
The command ends with 1 after a silent cell, and after a living thread or comment that is deleted. Drawn pages take ten
times as long, so they are asked for by name: `--form drawn`.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import redis
from sqlalchemy import select

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.login_sessions import Sessions
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Stage
from crawl_tasks.model.own_counters import take_counted
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.store import tables
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.small_crawl import SmallCrawl, SmallForum
from tests.members_forum import LOGIN, PASSWORD, MembersForum, session_of
from tests.unit.hostile_server import Visit

ENDS = (
    "never", "each 9 requests", "once", "new id each time", "third by another server", "cookie ends",
    "one node of two", "other password",
)  # fmt: skip
ANSWERS = ("404", "401", "403", "410", "login form", "redirect", "fewer", "nothing")
FORMS, PHASES = ("html", "json", "drawn"), ("first", "news", "full")
THREADS, REPLIES = 8, 7
MOST_ROUNDS = 20
KEY = "k" * 32

RULES = {
    "html": """\
list:
  address: /list/{board}
  record: .row
  fields: {post_id: {attr: data-id}, title: .t, reply_count: .n}
  revision: [reply_count]
  empty: .nothing
post:
  address: /post/{post}
  fields: {title: h1, body: .body}
  pages: .pages
  comments: {record: .c, fields: {comment_id: {attr: data-id}, body: .say}}
comment: {address: "/post/{post}/{page}", first_page: 2, record: .c, fields: {comment_id: {attr: data-id}, body: .say}}
""",
    "json": """\
list:
  address: /list/{board}
  format: json
  record: {json: threads}
  fields: {post_id: {json: id}, title: {json: title}, reply_count: {json: replies}}
  revision: [reply_count]
post:
  address: /post/{post}
  format: json
  fields: {title: {json: title}, body: {json: body}}
  pages: {json: pages}
  comments: {record: {json: replies}, fields: &reply {comment_id: {json: id}, body: {json: body}}}
comment: {address: "/post/{post}/{page}", first_page: 2, format: json, record: {json: replies}, fields: *reply}
""",
}
RULES["drawn"] = RULES["html"].replace("/post/{post}\n", "/post/{post}\n  render: {quiet_s: 0.1}\n")
SCRIPT = """<div id=all></div><script>fetch('/api%s').then(one => one.ok ? one.text() : '<p class=none>none</p>')
.then(text => { all.innerHTML = text })</script>"""


class Cell(NamedTuple):
    """A cell of the table."""

    end: str
    answer: str
    form: str = "html"
    phase: str = "first"


class TableForum(MembersForum):
    """A board of threads with replies, whose sessions end and whose guests are answered as a cell of the table says.

    `is_calm` until its sessions begin to end.
    """

    def __init__(self, cell: Cell) -> None:
        super().__init__(THREADS)
        self.cell, self.is_calm, self.replies = cell, True, REPLIES
        self._used, self._pages, self._has_ended = Counter[str](), 0, False

    def rules(self, login: str = LOGIN) -> str:
        head = f'name: demo\nbase: {self.server.base}\nprivate_hosts: ["{self.server.place}"]\nrobots: false\n'
        gate = "boards: [1]\ngate: {delay_s: 0, retry_base_s: 0.1, max_attempts: 4}\ninterval: {full_pass_s: 86400}\n"
        return head + gate + RULES[self.cell.form] + login + "  most_a_day: 60\n"

    def _is_member(self, sid: str, is_page: bool) -> bool:
        end, is_member = self.cell.end, sid in self._members
        self._pages += is_page
        if self.is_calm or end == "never":
            return is_member
        if end == "third by another server":
            return is_member and not (is_page and self._pages % 3 == 0)
        if end == "one node of two":
            return is_member and len(self.server.visits) % 2 == 0
        self._used[sid] += is_member
        is_over = end == "each 9 requests" and self._used[sid] > 9
        if end in ("once", "other password") and is_page and self._pages > 3 and not self._has_ended:
            is_over = self._has_ended = True
            self.password = "planted-password-2" if end == "other password" else self.password
        if is_over:
            self.log_all_out()
        return is_member and not is_over

    def _page(self, visit: Visit) -> None:
        sid = session_of(visit)
        path = visit.target.removeprefix("/api")
        kind, _, rest = path.strip("/").partition("/")
        is_member = self._is_member(sid, kind in ("list", "post"))
        headers = {"Content_Type": "application/json" if kind and self.cell.form == "json" else "text/html"}
        if is_member and not self.is_calm and self.cell.end in ("new id each time", "cookie ends"):
            headers["Set_Cookie"] = f"sid={self._renewed(sid)}; Path=/; HttpOnly"
            if self.cell.end == "cookie ends" and self._used[sid] % 5 == 0:
                headers["Set_Cookie"] += "; Max-Age=0"
        chrome = "<nav><a class=logout>Log out</a></nav>" if is_member else "<nav><a href=/login>Log in</a></nav>"
        if not kind:
            visit.reply(chrome.encode(), **headers)
        elif kind == "list" or rest in self.threads:
            self._answer(visit, kind, rest, is_member=is_member, chrome=chrome, headers=headers)
        else:
            visit.reply(b"no such page", "404 Not Found", **headers)

    def _renewed(self, sid: str) -> str:
        if self.cell.end == "cookie ends":
            return sid
        self._members.discard(sid)
        new = f"planted-session-{next(self._numbers)}"
        self._members.add(new)
        return new

    def _answer(
        self, visit: Visit, kind: str, rest: str, *, is_member: bool, chrome: str, headers: dict[str, str]
    ) -> None:
        answer, is_json = self.cell.answer, self.cell.form == "json"
        if is_member or answer in ("fewer", "nothing"):
            write = self._json if is_json else self._html
            visit.reply(write(visit, kind, rest, is_member=is_member, chrome=chrome).encode(), **headers)
        elif answer == "redirect":
            visit.reply(b"", "302 Found", Location="/login", **headers)
        elif answer == "login form":
            form = f"{chrome}<form><input type=password></form>"
            visit.reply(b'{"error": "log in"}' if is_json else form.encode(), **headers)
        else:
            visit.reply(b"{}" if is_json else chrome.encode(), f"{answer} No", **headers)

    def _shown(self, kind: str, rest: str, *, is_member: bool) -> tuple[list[str], str, int]:
        """Return the threads of the list, the text of a thread, and the number of its replies."""
        if is_member:
            return self.threads, f"text {rest}", self.replies
        if self.cell.answer == "fewer":
            return self.threads, f"text {rest}", 1
        return [], "private", 0

    def _json(self, visit: Visit, kind: str, rest: str, *, is_member: bool, chrome: str) -> str:
        threads, body, shown = self._shown(kind, rest, is_member=is_member)
        if kind == "list":
            rows = [{"id": key, "title": f"thread {key}", "replies": self.replies} for key in threads]
            return json.dumps({"threads": rows})
        replies = [{"id": f"{rest}-{turn}", "body": f"reply {turn}"} for turn in range(shown)]
        return json.dumps({"title": f"thread {rest}", "body": body, "replies": replies})

    def _html(self, visit: Visit, kind: str, rest: str, *, is_member: bool, chrome: str) -> str:
        threads, body, shown = self._shown(kind, rest, is_member=is_member)
        if kind == "list":
            row = "<p class=row data-id={0}><b class=t>thread {0}</b><i class=n>{1}</i>"
            return chrome + ("".join(row.format(key, self.replies) for key in threads) or "<p class=nothing>")
        is_part = visit.target.startswith("/api")
        if self.cell.form == "drawn" and not is_part:
            return chrome + SCRIPT % visit.target
        replies = [f"<div class=c data-id={rest}-{turn}><p class=say>reply {turn}</p></div>" for turn in range(shown)]
        post = f"<h1>thread {rest}</h1><div class=body>{body}</div>{''.join(replies)}"
        return post if is_part else chrome + post


class TableCrawl(SmallCrawl):
    """One worker that crawls as a member, and stores."""

    def __init__(self, client: redis.Redis, frontier: Frontier, forum: TableForum, store: Store) -> None:
        super().__init__(client, frontier, SmallForum(forum.server.base))
        self.pages = PageTask(
            frontier,
            SiteRegistry(frontier, None),
            Fetcher(build_client("curl"), sessions=Sessions(frontier.logins, KEY)),
        )
        self.now, self.store = 0.0, store
        self._storing = OutboxConsumer(frontier, lambda: store, batch=1000, worth=1, clock=lambda: self.now)
        publish_site(frontier, parse_site(forum.rules(), "demo.yaml"), contact=None)
        frontier.sites.run_only(["demo"], 3_600_000)

    def work(self) -> list[str]:
        """Work until nothing is released, drawn pages too."""
        super().work()
        while hints := self.client.rpop("render", 1000):
            for hint in hints:
                self.pages.handle(TaskMessage("demo", Stage.POST, rid=json.loads(json.loads(hint)["body"])[1]["rid"]))
            super().work()
        return []

    def settle(self) -> None:
        """Work and store until nothing is open but what is parked, or until the site stands still."""
        for _ in range(MOST_ROUNDS):
            self._storing.run()
            self.now += 6
            if not Inspector(self.frontier).count_requests("demo").open:
                break
            for entry in self.client.zrange("test:s:demo:delayed", 0, -1):
                self.client.zadd("test:s:demo:delayed", {entry: 0})
            self.client.zadd("test:due", {"demo": 0})
            time.sleep(0.03)
            self.frontier.tick("here")
            self.work()
        self._storing.run()
        self.now += 6
        self._storing.run()

    def lost(self, forum: TableForum) -> tuple[list[str], list[str]]:
        """Return the threads and comments that are not stored as members see them, and those that are deleted."""
        with self.store.database.reading() as connection:
            posts = {row.post_id: row for row in connection.execute(select(tables.posts))}
            comments = {row.comment_id: row for row in connection.execute(select(tables.comments))}
        gone = [key for rows in (posts, comments) for key, row in rows.items() if row.state == "deleted"]
        lost = [key for key in forum.threads if key not in posts or posts[key].body != f"text {key}"]
        replies = [f"{key}-{turn}" for key in forum.threads for turn in range(forum.replies)]
        lost += [key for key in replies if key not in comments]
        return lost, gone


def run(cell: Cell, client: redis.Redis, frontier: Frontier, directory: Path) -> str:
    """Crawl a cell. Return its verdict: `right`, `told ...`, or what was lost in silence."""
    os.environ["FORUM_DEMO_PASSWORD"] = PASSWORD
    take_counted()
    forum = TableForum(cell)
    with Store(f"sqlite:///{directory}/{len(list(directory.iterdir()))}.db") as store:
        crawl = TableCrawl(client, frontier, forum, store)
        try:
            if cell.phase != "first":
                crawl.scan()
                crawl.settle()
            forum.is_calm = False
            if cell.phase == "news":
                forum.replies += 1
            begin: Callable[[], object] = crawl.full_pass if cell.phase == "full" else crawl.scan
            begin()
            crawl.settle()
            return _verdict(crawl, frontier, forum)
        finally:
            crawl.pages.close()
            forum.server.stop()


def _verdict(crawl: TableCrawl, frontier: Frontier, forum: TableForum) -> str:
    lost, gone = crawl.lost(forum)
    if gone:
        return f"SILENT: living but deleted: {gone}"
    if not lost:
        return "right"
    named = sorted({row.reason for row in Admin(frontier).failed.requests.list(Selection("demo"))})
    named += sorted({problem.name for problem in find_problems(take_snapshot(frontier)) if problem.subject == "demo"})
    named += sorted(take_counted().get("demo", {}).keys() & {"doubtful_threads"})
    if Inspector(frontier).count_requests("demo").open:
        named.append("open")
    return f"told: {', '.join(named)}" if named else f"SILENT: {len(lost)} lost: {lost[:5]}"


def main() -> int:
    """Print the table, and return the exit code."""
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(prog="python -m tests.frontier.session_table", description=__doc__)
    for name, values in (("end", ENDS), ("answer", ANSWERS), ("form", FORMS), ("phase", PHASES)):
        parser.add_argument(f"--{name}", nargs="+", choices=values, default=values if name != "form" else FORMS[:2])
    chosen = parser.parse_args()
    counts = Counter[str]()
    parts = product(chosen.form, chosen.phase, chosen.end, chosen.answer)
    with TemporaryDirectory(prefix="crawl-table-") as name, RedisServer(Path(name)) as server:
        for cell in (Cell(end, answer, form, phase) for form, phase, end, answer in parts):
            with open_client(server.url, "") as client, TemporaryDirectory(prefix="crawl-cell-") as directory:
                client.flushall()
                verdict = run(cell, client, Frontier(client, "test"), Path(directory))
            counts[verdict.partition(":")[0]] += 1
            sys.stdout.write(f"{cell.form:5} {cell.phase:5} {cell.end:22} {cell.answer:10} {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{dict(counts)}\n")
    return int(counts["SILENT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
