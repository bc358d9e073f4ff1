"""Fault injection: answers that are wrong at once, and responses that go wrong over time."""

from __future__ import annotations

import asyncio
from typing import Protocol

from crawl_tasks.demo.forum import HTML, Answer
from crawl_tasks.demo.http_request import DemoRequest
from tests.faulty.faults import Fault, FaultKind

PLAYED = frozenset(
    {FaultKind.SLOW_HEADERS, FaultKind.SLOW_BODY, FaultKind.TRUNCATED, FaultKind.ENDLESS, FaultKind.HANG_UP}
)
SPOILING = PLAYED - {FaultKind.SLOW_HEADERS, FaultKind.SLOW_BODY}
# Pieces of a slow response: small enough that each arrives before a read timeout.
DRIPS = 40
MOVED = "/moved"
_LINE = b"<!-- this page has no end -->\n" * 512


class Pipe(Protocol):
    """The methods of a connection that fault injection needs."""

    def write(self, data: bytes) -> None:
        """Send, or queue while the client reads slowly."""

    async def drain(self) -> None:
        """Wait until the queue is short."""

    def abort(self) -> None:
        """Close at once. Queued bytes are lost."""


def wrong_answer(fault: Fault, call: DemoRequest, right: Answer) -> Answer | None:
    """Return the wrong answer in place of `right`, None for a fault that `play` performs."""
    match fault.kind:
        case FaultKind.TOO_MANY:
            return _failure(429, fault.retry_after_s)
        case FaultKind.UNAVAILABLE:
            return _failure(503, fault.retry_after_s)
        case FaultKind.ERROR:
            return _failure(500, None)
        case FaultKind.REDIRECT_LOOP:
            return _redirect(302, call.path if "?" in call.target else f"{call.path}?again=1")
        case FaultKind.REDIRECT_PRIVATE:
            return _redirect(302, fault.target)
        case FaultKind.MOVED:
            return _redirect(301, MOVED + call.target)
        case FaultKind.CHANGED_MARKUP:
            body = right.body.replace(b' class="', b' class="v2-').replace(b" data-", b" data-v2-")
            return Answer(right.status, right.headers, body)
    return None


async def play(fault: Fault, wire: bytes, pipe: Pipe) -> None:
    """Send a response in the way of a PLAYED fault. A SPOILING one leaves the connection unusable."""
    body_at = wire.index(b"\r\n\r\n") + 4
    match fault.kind:
        case FaultKind.SLOW_HEADERS:
            await _drip(wire[:body_at], fault.duration_s, pipe)
            pipe.write(wire[body_at:])
        case FaultKind.SLOW_BODY:
            pipe.write(wire[:body_at])
            await _drip(wire[body_at:], fault.duration_s, pipe)
        case FaultKind.TRUNCATED:
            pipe.write(wire[: body_at + (len(wire) - body_at) // 2])
            await pipe.drain()
        case FaultKind.ENDLESS:
            await _endless(pipe)
        case FaultKind.HANG_UP:
            pipe.abort()


async def _drip(data: bytes, duration_s: float, pipe: Pipe) -> None:
    """Send in small pieces, so that a limit on the wait for the next piece never strikes."""
    step = max(1, -(-len(data) // DRIPS))
    starts = range(0, len(data), step)
    for start in starts:
        await asyncio.sleep(duration_s / len(starts))
        pipe.write(data[start : start + step])


async def _endless(pipe: Pipe) -> None:
    """Send chunks until the client disconnects, which cancels this task."""
    pipe.write(f"HTTP/1.1 200 OK\r\nContent-Type: {HTML}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    chunk = f"{len(_LINE):x}\r\n".encode() + _LINE + b"\r\n"
    while True:
        pipe.write(chunk)
        await pipe.drain()
        # drain() returns at once while there is room: without this no other connection would be served.
        await asyncio.sleep(0)


def _failure(status: int, retry_after_s: int | None) -> Answer:
    headers = {"content-type": HTML}
    if retry_after_s is not None:
        headers["retry-after"] = str(retry_after_s)
    return Answer(status, headers, f"<title>{status}</title>please come back later\n".encode())


def _redirect(status: int, target: str) -> Answer:
    return Answer(status, {"content-type": HTML, "location": target}, b"")
