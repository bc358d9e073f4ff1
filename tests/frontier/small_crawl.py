"""A crawl in one process: a forum that is a dictionary of pages, and the real pipeline working through the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.client import responses

import redis

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.outbox import read_items
from crawl_tasks.model import Items, Stage
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.task_message import TaskMessage
from tests.unit.hostile_server import HostileServer, Visit

RULES = """\
name: demo
base: http://127.0.0.1:1
robots: false
gate: {window: 50, delay_s: 0, retry_base_s: 0.1}
list:
  address: /list/{board}/{page}
  record: .row
  fields: {post_id: {attr: data-id}, title: .t, reply_count: .n, last_reply_at: .at}
  empty: .nothing
  revision: [reply_count]
  next: .next
post:
  address: /post/{post}
  fields: {title: h1, body: .body}
  pages: .pages
comment:
  address: /comment/{post}/{page}
  first_page: 2
  record: .c
  fields: {comment_id: {attr: data-id}, author: .who, body: .say}
  empty: body
"""


@dataclass
class SmallForum:
    """A forum in memory: pages by path, and 404 for other paths. `asked` are the paths that were asked for, in order.
    `statuses` are answers other than the usual ones.

    A page of `ages` lay so many seconds in a cache. A page of `etags` has that ETag, whatever it says; `asked_if` are
    the paths asked for only if they changed. Its clock is `ahead_s` before ours; `moved` holds redirects by path,
    `then` what happens once, right after a path was asked for.
    """

    url: str
    pages: dict[str, str | bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    ahead_s: float = 0.0
    moved: dict[str, str] = field(default_factory=dict)
    then: dict[str, Callable[[], object]] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    ages: dict[str, int] = field(default_factory=dict)
    asked_if: list[str] = field(default_factory=list)

    def thread(self, post: str, *comments: str, body: str = "hello", more: str = "") -> None:
        """Write a post page with its comments, each as `id text`."""
        said = "".join(
            f"<div class=c data-id={c.split()[0]}><b class=who>ann</b><p class=say>{c.split(maxsplit=1)[1]}</div>"
            for c in comments
        )
        self.pages[f"/post/{post}"] = f"<h1>post {post}</h1><div class=body>{body}</div>{said}{more}"

    def board(self, board: str, page: int, *rows: str, more: str = "") -> None:
        """Write a list page; a row is `post replies`, or `post replies date`."""
        lines = "".join(
            f"<div class=row data-id={post}><a class=t>post {post}</a><i class=n>{replies}</i>"
            f"<i class=at>{' '.join(at)}</i></div>"
            for post, replies, *at in map(str.split, rows)
        )
        self.pages[f"/list/{board}/{page}"] = (lines or "<p class=nothing>") + more

    def whole_thread(self, post: str, comments: Sequence[str], *, rows: int, body: str = "hello") -> int:
        """Write all pages of a thread with so many comments each; return their number."""
        last = max(1, -(-len(comments) // rows))
        for page in range(last, 0, -1):
            shown = comments[(page - 1) * rows : page * rows]
            self.thread(post, *shown, body=body, more=f"<b class=pages>{last}</b>")
            if page > 1:
                self.pages[f"/comment/{post}/{page}"] = self.pages[f"/post/{post}"]
        return last

    def whole_board(
        self, board: str, lines: Sequence[str], *, rows: int, path: str = "", has_next: bool = True
    ) -> None:
        """Write all list pages of a board with so many rows each, below `path` where it is no usual one."""
        for at in range(0, max(1, len(lines)), rows):
            page, where = at // rows + 1, path or f"/list/{board}"
            link = f"<a class=next href={where}/{page + 1}>next</a>"
            self.board(board, page, *lines[at : at + rows], more=link * (has_next and at + rows < len(lines)))
            self.pages[f"{where}/{page}"] = self.pages[f"/list/{board}/{page}"]

    def answer(self, visit: Visit) -> None:
        """Answer a request."""
        path = visit.target
        self.asked.append(path)
        page, target, etag = self.pages.get(path), self.moved.get(path), self.etags.get(path)
        self.then.pop(path, lambda: None)()
        known = visit.headers.get("if-none-match")
        if known is not None:
            self.asked_if.append(path)
        usual = 302 if target else 404 if page is None else 304 if known is not None and known == etag else 200
        status = self.statuses.get(path, usual)
        headers = {"Date": formatdate(time.time() + self.ahead_s, usegmt=True)}
        if status == 304:
            visit.reply(b"", "304 Not Modified", **headers)
            return
        if etag is not None:
            headers["ETag"] = etag
        if path in self.ages:
            headers["Age"] = str(self.ages[path])
        if target:
            headers["Location"] = target
        body = page.encode() if isinstance(page, str) else page or b"no such page"
        visit.reply(body, f"{status} {responses.get(status, '')}", Content_Type="text/html; charset=utf-8", **headers)


@contextmanager
def small_forum() -> Iterator[SmallForum]:
    """Serve a forum on a free port of loopback."""
    forum = SmallForum("")
    server = HostileServer({"/robots.txt": forum.answer}, otherwise=forum.answer)
    forum.url = server.base
    try:
        yield forum
    finally:
        server.stop()


class SmallCrawl:
    """Publishes a site and works on its requests until none is released."""

    def __init__(self, client: redis.Redis, frontier: Frontier, forum: SmallForum) -> None:
        self.client, self.frontier, self.forum = client, frontier, forum
        self.pages = PageTask(frontier, SiteRegistry(frontier, None), Fetcher(build_client("requests")))

    def publish(self, more: str = "boards: [1]\n", rules: str = RULES) -> Site:
        site = parse_site(rules + more, "demo.yaml").relocated(self.forum.url)
        publish_site(self.frontier, site, contact=None)
        return site

    def work(self, stages: Iterable[Stage] = tuple(Stage)) -> list[str]:
        """Work until nothing is released, of some stages or of all; give the paths that were fetched."""
        before = len(self.forum.asked)
        while hints := [(stage, hint) for stage in stages for hint in self.client.rpop(stage.value, 1000) or ()]:
            for stage, hint in hints:
                self.pages.handle(TaskMessage("demo", stage, rid=json.loads(json.loads(hint)["body"])[1]["rid"]))
        return self.forum.asked[before:]

    def scan(self) -> list[str]:
        """Make every board due, and work."""
        self.make_due()
        self.frontier.produce()
        return self.work()

    def try_again(self) -> list[str]:
        """Try again what is delayed, and return the paths that were fetched."""
        for entry in self.client.zrange("test:s:demo:delayed", 0, -1):
            self.client.zadd("test:s:demo:delayed", {entry: 0})
        self.client.zadd("test:due", {"demo": 0})
        self.frontier.tick("here")
        return self.work()

    def make_due(self) -> None:
        for board in self.client.zrange("test:boards", 0, -1):
            self.client.zadd("test:boards", {board: 0})

    def store_into(self, store: Store) -> list[str]:
        """Store what waits, as a store worker does, and ask for what follows; return the paths that were fetched."""
        before, drain = len(self.forum.asked), OutboxConsumer(self.frontier, lambda: store, batch=1000, worth=1)
        while self.frontier.outbox.size() or self._releases_delayed():
            drain.run()
            self.work()
        return self.forum.asked[before:]

    def _releases_delayed(self) -> bool:
        """Wait until a thread of a full pass is read again, if that is soon, and release it; else return False."""
        for entry, due_ms in self.client.zrange("test:s:demo:delayed", 0, 0, withscores=True):
            has_reach = len(json.loads(entry.rpartition(b" ")[2])) > len(("key", "page", "revision"))
            wait_s = due_ms / 1000 - time.time()
            if has_reach and wait_s <= 1:
                time.sleep(max(0.0, wait_s))
                self.client.zadd("test:due", {"demo": 0})
                self.frontier.tick("me")
                self.work()
                return True
        return False

    def full_pass(self) -> list[str]:
        """Make the full pass of every board due, and work until it has gone through all of them."""
        before, steps = len(self.forum.asked), 0
        for board in self.client.zrange("test:fulls", 0, -1):
            key = f"test:s:demo:board:{board.decode().split(' ')[1]}"
            self.client.hset(key, "full_due", 0)
        while steps != len(self.forum.asked):
            steps = len(self.forum.asked)
            for board in self.client.zrange("test:fulls", 0, -1):
                self.client.zadd("test:fulls", {board: 0})
            self.frontier.produce()
            self.work()
        return self.forum.asked[before:]

    def items(self) -> list[Items]:
        """Return what waits for the store and take it away."""
        drawn = self.frontier.outbox.draw("test", 1000).pages
        self.frontier.outbox.ack({"demo": [page for page, _ in drawn]})
        return [read_items(text) for _, text in drawn]
