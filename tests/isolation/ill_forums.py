"""Forums that change behind a front that answers badly for as long as they are ill, and a function that hangs."""

from __future__ import annotations

import http.client
import os
import threading
import time
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from crawl_tasks.api import Comment, Post, Request
from crawl_tasks.model import Stage
from tests.unit.hostile_server import Answer, HostileServer, Visit

ATTRIBUTES = 60_000
HANGING = 3
STATUSES = ("429 Too Many Requests", "503 Service Unavailable")
HOP_BY_HOP = {"content-length", "transfer-encoding", "connection", "keep-alive"}
ILLNESS = Path(os.environ.get("CRAWL_STATE_DIR", ".")) / "functions-hang"
"""The file that lets the function of a site hang, in all processes."""


def hangs_on_some(item: Post | Comment, request: Request) -> Post | Comment:
    """Return an item as it is, and of every twentieth post, which changes often, only when the illness is over."""
    while request.stage is Stage.POST and int(item.post_id) % 20 == 5 and ILLNESS.exists():
        time.sleep(0.1)
    return item


class IllForum:
    """The front of a forum. Three posts hang and one has a tag of 60,000 attributes, or all posts are refused."""

    def __init__(self, forum: str) -> None:
        self._forum = urlsplit(forum).netloc
        self._bad: dict[str, Answer] = {}
        self._refusals = count()
        self._lock = threading.Lock()
        self.server = HostileServer(otherwise=self._answer)
        self.has_bad_pages = self.is_refusing = False

    def _answer(self, visit: Visit) -> None:
        if self.is_refusing and visit.target.startswith("/post/"):
            visit.reply(b"later", STATUSES[next(self._refusals) % len(STATUSES)], Retry_After="2")
        elif self.has_bad_pages and (answer := self._bad_answer(visit.target)):
            answer(visit)
        else:
            self._forward(visit)

    def _bad_answer(self, target: str) -> Answer | None:
        """Return the bad answer of a page. The first posts that are asked for are the bad ones."""
        with self._lock:
            if target.startswith("/post/") and len(self._bad) <= HANGING:
                self._bad.setdefault(target, Visit.hang if len(self._bad) < HANGING else many_attributes)
            return self._bad.get(target)

    def _forward(self, visit: Visit) -> None:
        connection = http.client.HTTPConnection(self._forum, timeout=30)
        connection.request("GET", visit.target)
        answer = connection.getresponse()
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
        visit.reply(answer.read(), f"{answer.status} {answer.reason}", **headers)
        connection.close()


def many_attributes(visit: Visit) -> None:
    """Answer with a tag that costs a parser seconds."""
    visit.reply(b"<p " + b" ".join(b"a%d=1" % number for number in range(ATTRIBUTES)) + b">", Content_Type="text/html")
