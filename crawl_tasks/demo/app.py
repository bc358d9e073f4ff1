"""The demo application: answers a request with a page or a fault."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from crawl_tasks.demo.access_log import AccessLog
from crawl_tasks.demo.fault_injection import MOVED, wrong_answer
from crawl_tasks.demo.faults import Fault, FaultPlan
from crawl_tasks.demo.forum import HTML, Answer, DemoForum
from crawl_tasks.demo.http_request import DemoRequest
from crawl_tasks.demo.mutation import Mutation


class DemoApp:
    """A forum with faults and access log. For the thread of the event loop only."""

    def __init__(self, forum: DemoForum, journal: AccessLog, latency_s: float, truth_file: Path | None) -> None:
        self.forum, self.journal, self.latency_s = forum, journal, latency_s
        self._truth_file = truth_file
        self._plan: FaultPlan | None = None
        self._write_truth()

    def set_faults(self, faults: Iterable[Fault]) -> None:
        """Replace all faults. The counts start anew."""
        chosen = tuple(faults)
        self._plan = FaultPlan(self.forum.seed, chosen) if chosen else None

    def mutate(self) -> Mutation:
        """Become the next generation, and write the truth's file anew."""
        news = self.forum.mutate()
        self._write_truth()
        return news

    def answer(self, call: DemoRequest) -> tuple[bytes, Fault | None]:
        """Return a whole response, and the fault that struck, if any."""
        if call.method not in ("GET", "HEAD"):
            return self.forum.pack(Answer(405, {"content-type": HTML, "allow": "GET, HEAD"}, b"")), None
        target = call.target.removeprefix(MOVED)
        fault = self._plan.pick(call.path) if self._plan else None
        wrong = wrong_answer(fault, call, self.forum.render(target)) if fault else None
        return self._aged(self.forum.pack(wrong) if wrong else self.forum.wire(target)), fault

    def _aged(self, wire: bytes) -> bytes:
        """Add an Age header: as if cached since the forum's present, or nobody would believe the Date."""
        return wire.replace(b"\r\n", b"\r\nAge: %d\r\n" % max(0, int(time.time()) - self.forum.now), 1)

    def _write_truth(self) -> None:
        if self._truth_file is not None:
            # Written beside and renamed: a test that reads meanwhile sees the old truth or the new one.
            fresh = self._truth_file.with_name(f".{self._truth_file.name}.new")
            fresh.write_text(self.forum.truth().to_json(), encoding="utf-8")
            fresh.replace(self._truth_file)
