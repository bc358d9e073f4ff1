"""The demo application: answers a request with a page."""

from __future__ import annotations

import time
from pathlib import Path

from crawl_tasks.demo.access_log import AccessLog
from crawl_tasks.demo.forum import HTML, Answer, DemoForum
from crawl_tasks.demo.http_request import DemoRequest


class DemoApp:
    """A forum with its access log. For the thread of the event loop only."""

    def __init__(self, forum: DemoForum, journal: AccessLog, latency_s: float, truth_file: Path | None) -> None:
        self.forum, self.journal, self.latency_s = forum, journal, latency_s
        self._truth_file = truth_file
        self.write_truth()

    def answer(self, call: DemoRequest) -> bytes:
        """Return a whole response."""
        if call.method not in ("GET", "HEAD"):
            return self.forum.pack(Answer(405, {"content-type": HTML, "allow": "GET, HEAD"}, b""))
        return self.aged(self.forum.wire(call.target))

    def aged(self, wire: bytes) -> bytes:
        """Add an Age header: as if cached since the forum's present, or nobody would believe the Date."""
        return wire.replace(b"\r\n", b"\r\nAge: %d\r\n" % max(0, int(time.time()) - self.forum.now), 1)

    def write_truth(self) -> None:
        """Write the truth's file, if there is one."""
        if self._truth_file is not None:
            # Written beside and renamed: a test that reads meanwhile sees the old truth or the new one.
            fresh = self._truth_file.with_name(f".{self._truth_file.name}.new")
            fresh.write_text(self.forum.truth().to_json(), encoding="utf-8")
            fresh.replace(self._truth_file)
