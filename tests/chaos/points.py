"""Where a process can die: named points in the crawler's own code, patched in a forked child only.

A child that is armed with a point ends itself there at the n-th pass, with no chance to tidy up. The point is reported
first, so that every kill is known by its place.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import select
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crawl_tasks.broker.transport import Channel
from crawl_tasks.fetch import web_archive
from crawl_tasks.fetch.requests import client as requests_client
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.model import Lease, Request, Stage
from crawl_tasks.settings import load_settings

Wrapper = Callable[..., Any]  # stands in for any function of the crawler
FRONTIER = "frontier.frontier:Frontier"
OUTBOX = "frontier.outbox:Outbox"
LIBCURL = "fetch.curl.transfer:Transfer"

BODY_PIECE = 700
"""Bytes of a body that are read before a death in its middle."""


class Role(StrEnum):
    """What a child is: each runs the crawler's own code, as the celery command does."""

    FETCH = "fetch"
    STORE = "store"
    BEAT = "beat"
    PRODUCER = "producer"


class Poison(StrEnum):
    """How a page kills the process that parses it."""

    EXIT = "exit"
    SEGFAULT = "segfault"
    MEMORY = "memory"

    def work(self) -> None:
        """Do it."""
        if self is Poison.SEGFAULT:
            faulthandler.disable()
            ctypes.string_at(0)
        if self is Poison.MEMORY:  # as the kernel ends whoever takes too much
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(3)


def poison_pages(posts: dict[str, str]) -> None:
    """Let the parsing of some posts kill the process."""

    def wrap(inner: Wrapper) -> Wrapper:
        def parse(parser: object, request: Request, *args: object) -> object:
            if request.stage is Stage.POST and request.key in posts:
                Poison(posts[request.key]).work()
            return inner(parser, request, *args)

        return parse

    _patch("parse.site_parser:SiteParser.parse", wrap)


class Fuse:
    """Counts passes, and at the last one reports and sends the signal."""

    def __init__(self, name: str, passes: int, number: signal.Signals, report: int) -> None:
        self._name, self._left, self._signal, self._fd = name, passes, number, report
        self.has_burnt = False

    def is_next(self) -> bool:
        """Return whether the next pass is the last."""
        return self._left == 1

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.report("hit")
            self.has_burnt = True
            # To this thread: a stop that another thread takes in lets this one run on for a moment.
            signal.pthread_kill(threading.get_ident(), self._signal)

    def report(self, what: str, **more: object) -> None:
        """Tell the fork server's reader."""
        os.write(self._fd, json.dumps({what: self._name} | more).encode() + b"\n")


@dataclass(frozen=True, slots=True)
class KillPoint:
    """A place to die at. `passes` is how often it may be passed before, at most; a rare
    one comes to pass only early in a crawl.
    """

    name: str
    role: Role
    arm: Callable[[Fuse], None]
    passes: int = 6
    is_rare: bool = False


def _patch(target: str, wrap: Callable[[Wrapper], Wrapper]) -> None:
    module, _, path = target.partition(":")
    owner = importlib.import_module(f"crawl_tasks.{module}" if not module.startswith("+") else module[1:])
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    setattr(owner, name, wrap(getattr(owner, name)))


def _before(target: str) -> Callable[[Fuse], None]:
    def wrap(strike: Fuse, inner: Wrapper) -> Wrapper:
        def dying(*args: object, **kwargs: object) -> object:
            strike()
            return inner(*args, **kwargs)

        return dying

    return lambda strike: _patch(target, lambda inner: wrap(strike, inner))


def _after(target: str, counts: Callable[[object], object] = lambda _: True) -> Callable[[Fuse], None]:
    """Die after a call whose result `counts`."""

    def wrap(strike: Fuse, inner: Wrapper) -> Wrapper:
        def dying(*args: object, **kwargs: object) -> object:
            result = inner(*args, **kwargs)
            if counts(result):
                strike()
            return result

        return dying

    return lambda strike: _patch(target, lambda inner: wrap(strike, inner))


def _sent(verb: Verb) -> Callable[[Fuse], None]:
    """Die when Redis has run a script and answered, and nobody has read the answer."""

    def arm(strike: Fuse) -> None:
        ask = Scripts._ask

        def dying(self: Scripts, asked: Verb, args: tuple[str | bytes | int, ...]) -> object:
            if asked is verb and strike.is_next():
                connection = self._of_this_thread().connection
                connection.send_command(*self._heads[verb], *args)
                select.select([connection._sock], [], [], 5)
                strike()
            elif asked is verb:
                strike()
            return ask(self, asked, args)

        Scripts._ask = dying

    return arm


def _taken_unread(strike: Fuse) -> None:
    """Die when receive.lua has taken messages off the queues and its answer is not read."""
    read = Channel._brpop_read

    def dying(self: Channel, **options: object) -> bool:
        if not self._is_waiting:
            select.select([self.client.connection._sock], [], [], 5)
            strike()
        return read(self, **options)

    Channel._brpop_read = dying


def _in_body(strike: Fuse) -> None:
    wire = requests_client._wire

    def dying(raw: Any, *args: Any) -> bytes:
        if strike.is_next():
            raw.read(BODY_PIECE, decode_content=False)
        strike()
        return wire(raw, *args)

    requests_client._wire = dying


def _in_record(strike: Fuse) -> None:
    append = web_archive._WarcFile.append

    def dying(self: Any, data: bytes) -> int:
        if strike.is_next():
            os.write(self._file, data[: len(data) // 2])
        strike()
        return append(self, data)

    web_archive._WarcFile.append = dying


def _by_client(requests: Callable[[Fuse], None], curl: Callable[[Fuse], None]) -> Callable[[Fuse], None]:
    """Die in the HTTP client that the settings name."""
    return lambda strike: {"requests": requests, "curl": curl}[load_settings().http_client](strike)


def watch_end_of_sleep(fuse: Fuse) -> None:
    """Report whether the first write of a process that was stopped, and woke up, was accepted."""
    for target in (f"{FRONTIER}.commit", f"{FRONTIER}.fail"):

        def wrap(inner: Wrapper) -> Wrapper:
            def watched(*args: object, **kwargs: object) -> object:
                result = inner(*args, **kwargs)
                if fuse.has_burnt:
                    fuse.has_burnt = False
                    fuse.report("woke", accepted=bool(result))
                return result

            return watched

        _patch(target, wrap)


def _is_lease(result: object) -> bool:
    return isinstance(result, Lease)


def _is_leader(result: Any) -> bool:
    return bool(result.is_leader)


POINTS = (
    KillPoint("broker: before asking for messages", Role.FETCH, _before("broker.transport:Channel._brpop_start"), 20),
    KillPoint("broker: messages taken, reply not read", Role.FETCH, _taken_unread),
    KillPoint("broker: messages in hand, none passed on", Role.FETCH, _before("broker.transport:Channel._deliver")),
    KillPoint("before the lease", Role.FETCH, _before(f"{FRONTIER}.lease")),
    KillPoint("lease given, reply not read", Role.FETCH, _sent(Verb.LEASE)),
    KillPoint("after the lease", Role.FETCH, _after(f"{FRONTIER}.lease", _is_lease)),
    KillPoint("before the fetch", Role.FETCH, _before("fetch.fetcher:Fetcher.fetch")),
    KillPoint(
        "request sent, no answer read",
        Role.FETCH,
        _by_client(_before("+urllib3.connection:HTTPConnection.getresponse"), _before(f"{LIBCURL}._take_line")),
    ),
    KillPoint(
        "headers read, body not",
        Role.FETCH,
        _by_client(_before("fetch.requests.client:_wire"), _before(f"{LIBCURL}._take_piece")),
    ),
    KillPoint("in the middle of the body", Role.FETCH, _by_client(_in_body, _after(f"{LIBCURL}._take_piece"))),
    KillPoint("after the fetch", Role.FETCH, _after("fetch.fetcher:Fetcher.fetch")),
    KillPoint("in the middle of parsing", Role.FETCH, _after("parse.site_parser:Document.__init__")),
    KillPoint("before the commit", Role.FETCH, _before(f"{FRONTIER}.commit")),
    KillPoint("commit done, reply not read", Role.FETCH, _sent(Verb.COMMIT)),
    KillPoint("after the commit", Role.FETCH, _after(f"{FRONTIER}.commit")),
    KillPoint("next page leased, its task not begun", Role.FETCH, _before("worker.page_chain:ChainPool._go_on")),
    KillPoint("before a failure is written", Role.FETCH, _before(f"{FRONTIER}.fail"), 1, is_rare=True),
    KillPoint("failure written, reply not read", Role.FETCH, _sent(Verb.FAIL), 1, is_rare=True),
    KillPoint("before the acknowledgement", Role.FETCH, _before("broker.qos:QoS.ack")),
    KillPoint("after the acknowledgement", Role.FETCH, _after("broker.qos:QoS.ack")),
    KillPoint("tick done, reply not read", Role.FETCH, _sent(Verb.TICK), 12),
    # Store workers are up first, and one of them has the floor in a crew in which nobody else dies.
    KillPoint("leading, after a tick", Role.STORE, _after(f"{FRONTIER}.tick", _is_leader), 12),
    KillPoint("scans produced, reply not read", Role.FETCH, _sent(Verb.PRODUCE), 2, is_rare=True),
    KillPoint("after producing scans", Role.FETCH, _after(f"{FRONTIER}.produce"), 2, is_rare=True),
    KillPoint("store: items drawn, reply not read", Role.STORE, _sent(Verb.READ_OUTBOX), 3),
    KillPoint("store: items drawn", Role.STORE, _after(f"{OUTBOX}.draw", lambda drawn: bool(drawn[1])), 3),
    KillPoint("store: in the transaction", Role.STORE, _after("store.upsert:settle"), 6),
    KillPoint("store: before COMMIT", Role.STORE, _before("+sqlalchemy.engine.default:DefaultDialect.do_commit"), 4),
    KillPoint("store: committed, not yet acknowledged", Role.STORE, _before(f"{OUTBOX}.ack"), 3),
    KillPoint("store: acknowledged, reply not read", Role.STORE, _sent(Verb.ACK_OUTBOX), 3),
    KillPoint("beat: message sent, schedule not saved", Role.BEAT, _after("+celery.beat:Scheduler.apply_async"), 3),
)

ARCHIVE = "fetch.web_archive"
ARCHIVE_POINTS = (
    KillPoint("archive: before a file is made", Role.FETCH, _before(f"{ARCHIVE}:_WarcFile.__init__"), 2),
    KillPoint("archive: file made, nothing written", Role.FETCH, _after(f"{ARCHIVE}:_WarcFile.__init__"), 2),
    KillPoint("archive: in the middle of a page's records", Role.FETCH, _in_record),
    KillPoint("archive: written, not yet on disk", Role.FETCH, _before(f"{ARCHIVE}:_WarcFile.sync")),
    KillPoint("archive: on disk, page not committed", Role.FETCH, _after(f"{ARCHIVE}:Archive.write")),
    KillPoint("archive: page committed", Role.FETCH, _after(f"{FRONTIER}.commit")),
    KillPoint("archive: before a file is completed", Role.FETCH, _before(f"{ARCHIVE}:_complete"), 2),
    KillPoint("archive: file completed", Role.FETCH, _after(f"{ARCHIVE}:_complete"), 2),
)
