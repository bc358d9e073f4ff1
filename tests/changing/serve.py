"""`python -m tests.changing.serve`: the changing forum as a process; ends cleanly on SIGTERM and SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from email.utils import formatdate
from itertools import count
from pathlib import Path

from crawl_tasks.demo.access_log import AccessLog, LogEntry
from crawl_tasks.demo.forum import HTML, Answer
from crawl_tasks.demo.generator import stream
from crawl_tasks.demo.http_connection import HttpConnection
from crawl_tasks.demo.http_request import DemoRequest
from tests.changing.fronts import FrontEnd, Gateway
from tests.changing.history import History
from tests.changing.pages import Shown, show
from tests.changing.script import Script
from tests.changing.topics import Forum
from tests.faulty.faults import Fault, FaultKind, FaultPlan
from tests.faulty.injection import wrong_answer

HOST = "127.0.0.1"
_PAGES = "/(list|post|comment)/.*"


class House:
    """Answers calls, as the demo's connections ask it to, and lets the forum change while it does.

    `answers` has a JSON line for each answer: when, where, from which front end, from its memory or not, which version
    of each thread it showed.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._forum = Forum(options.seed, time.time())
        self._script, self._history = Script(self._forum), History(self._forum)
        second = FrontEnd("skewed", options.skew, options.cache, not options.no_date)
        first = FrontEnd("right", 0.0, options.cache, not options.no_date)
        self._gateway = Gateway((first, second), stream(options.seed, "gateway"))
        kinds = (FaultKind.ERROR, FaultKind.UNAVAILABLE) if options.errors else ()
        self._plan = FaultPlan(options.seed, [Fault(kind, _PAGES, probability=options.errors / 2) for kind in kinds])
        self.journal = AccessLog(options.log)
        self._answers = options.answers.open("a", encoding="utf-8") if options.answers else None
        self.latency_s = options.latency_ms / 1000
        self._options = options
        self._has_begun = self._is_over = False
        self._chance = stream(options.seed, "meddling")

    @property
    def forum(self) -> House:
        """Return the demo's connections what has the `date` of an answer to what is no call."""
        return self

    @property
    def date(self) -> str:
        """Return the present as a header has it."""
        return formatdate(time.time(), usegmt=True)

    def answer(self, call: DemoRequest) -> tuple[bytes, Fault | None]:
        """Return a whole response, and the fault that struck, if any."""
        now, front = time.time(), self._gateway.next()
        if call.method not in ("GET", "HEAD"):
            return front.pack(Answer(405, {"content-type": HTML, "allow": "GET, HEAD"}, b""), now, now), None
        if not self._has_begun and call.path != "/robots.txt":
            self._has_begun = True
            asyncio.get_running_loop().create_task(self._change())
        fault = self._plan.pick(call.path)
        wrong = wrong_answer(fault, call, Answer(200, {}, b"")) if fault else None
        if wrong:
            return front.pack(wrong, now, now), fault
        copy, is_kept = front.answer(call.path, now, self._show)
        self._note(now, call.path, front, copy.shown, is_kept=is_kept, age_s=now - copy.made_at)
        if not self._is_over and self._chance.random() < self._options.meddle:
            self._meddle(call.path, copy.shown)
        return front.pack(copy.shown.answer, copy.made_at, now), None

    def _show(self, path: str, clock: float) -> Shown:
        return show(self._forum, path, clock)

    def _meddle(self, path: str, shown: Shown) -> None:
        """Change a long thread right after one of its pages was given out."""
        for post_id in () if path.startswith("/list/") else shown.versions:
            if self._forum.topics[post_id].pages > 1:
                now = time.time()
                self._history.follow(now, self._script.meddle(post_id, now))

    def _note(self, now: float, path: str, front: FrontEnd, shown: Shown, *, is_kept: bool, age_s: float) -> None:
        if self._answers is None:
            return
        row = {"at": round(now, 3), "path": path, "front": front.name, "status": shown.answer.status}
        row |= {"is_kept": is_kept, "age_s": round(age_s, 2), "versions": shown.versions, "revisions": shown.revisions}
        self._answers.write(f"{json.dumps(row)}\n")
        self._answers.flush()

    async def _change(self) -> None:
        """Make the changes, each in its turn; then wait until no kept page is older than the last one."""
        options = self._options
        began = time.monotonic()
        for number in range(round(options.seconds * options.rate)):
            await asyncio.sleep(max(0.0, began + number / options.rate - time.monotonic()))
            now = time.time()
            self._history.follow(now, self._script.next(now))
        await asyncio.sleep(max(0.0, began + options.seconds - time.monotonic()))
        self._is_over = True
        await asyncio.sleep(options.cache)
        if options.truth:
            write_whole(options.truth, self._history.to_json())


class Connection(HttpConnection):
    """A connection whose log entries name the fault that struck."""

    def _respond(self, call: DemoRequest, visit: LogEntry, is_late: bool) -> None:
        wire, fault = self._app.answer(call)
        visit.fault = fault.kind.value if fault else ""
        self._reply(call, visit, wire, is_late)


def write_whole(file: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.write_text(text, "utf-8")
    fresh.replace(file)


async def serve(options: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    loop, end, crowd, numbers = asyncio.get_running_loop(), asyncio.Event(), set[HttpConnection](), count(1)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    house = House(options)
    server = await loop.create_server(lambda: Connection(house, next(numbers), crowd), HOST, options.port, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    if options.port_file:
        write_whole(options.port_file, f"{port}\n")
    sys.stdout.write(f"changing forum at http://{HOST}:{port}/\n")
    sys.stdout.flush()
    await end.wait()
    server.close()
    for connection in tuple(crowd):
        connection.abort()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how the forum behaves; those who start it as a process hand these on."""
    add = parser.add_argument
    add("--seed", type=int, default=1, help="of content and changes (default: %(default)s)")
    add("--seconds", type=float, default=20.0, help="of change, from the first page asked for (default: %(default)s)")
    add("--rate", type=float, default=8.0, help="changes a second (default: %(default)s)")
    add("--skew", type=float, default=0.0, help="seconds that the second front end's clock is ahead (default: 0)")
    add("--cache", type=float, default=0.0, help="seconds for which front ends keep pages (default: 0)")
    add("--no-date", action="store_true", help="send no Date header")
    add("--latency-ms", type=float, default=0.0, help="added to every answer (default: 0)")
    add("--meddle", type=float, default=0.05, help="share of answers from long threads after which they change at once")
    add("--errors", type=float, default=0.0, help="share of answers that are 500 or 503 (default: 0)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.changing.serve", description=__doc__)
    add_options(parser)
    parser.add_argument("--port", type=int, default=8766, help="on 127.0.0.1; 0 takes a free one")
    for name, what in {
        "port-file": "write the port when it is open",
        "truth": "write what was and is true, at rest, when no kept page is older than the last change",
        "log": "append a JSON line for each request",
        "answers": "append a JSON line for each answer: which version of which thread it showed",
    }.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    asyncio.run(serve(parser.parse_args(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
