"""The pool of a drawn page: its requests go one after the other, and past those that the server holds."""

from __future__ import annotations

import queue
import threading
import time
from asyncio import Future
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Final

from crawl_tasks.errors import DeadlineExceeded
from crawl_tasks.fetch.browser_page import AskedRequest, BrowserPage, PageAnswer, PageRequest
from crawl_tasks.fetch.throttle import Throttle

HELD_AFTER_S: Final = 1.0
"""Seconds after which a request that is not answered lets the next one go beside it: a server may hold it for long."""
MOST_BESIDE: Final = 5
"""Requests of a page that go beside each other at most, fewer than a visitor's browser would send at once."""

Answer = Callable[[PageRequest, Throttle], PageAnswer | None]
"""Answers a request of a page at the pace of a throttle, None to refuse it. Runs in a thread of the request."""
Settle = Callable[["Future[PageAnswer | None]", PageAnswer | None], object]


class RequestPool:
    """The requests of one page on their way. Run by the thread of the page."""

    def __init__(self, page: BrowserPage, answer: Answer, settle: Settle) -> None:
        self._page, self._answer, self._settle = page, answer, settle
        self._waiting = deque[AskedRequest]()
        self._on_way: list[_RequestTurn] = []
        self._slots = threading.Lock()

    def run(self) -> None:
        """Answer requests until the document is there.

        Raises:
            queue.Empty: the time of the page is over.
            Exception: whatever the answer to a request raised, which ends the page.
        """
        while True:
            wait_s = self._begin_next()
            try:
                event = self._page.events.get(timeout=max(0.0, min(wait_s, self._left_s())))
            except queue.Empty:
                if self._left_s() <= 0:
                    raise
                continue
            if isinstance(event, AskedRequest):
                self._waiting.append(event)
            elif isinstance(event, _RequestTurn):
                self._on_way.remove(event)
            elif isinstance(event, Exception):
                raise event
            else:
                return

    def _left_s(self) -> float:
        return self._page.clock.deadline - time.monotonic()

    def _begin_next(self) -> float:
        """Begin the next requests that may go. Return the seconds after which to look again."""
        while self._waiting:
            now = time.monotonic()
            held_at = max((turn.began_at for turn in self._on_way), default=-HELD_AFTER_S) + HELD_AFTER_S
            if len(self._on_way) >= MOST_BESIDE:
                break
            if now < held_at:
                return held_at - now
            asked, turn = self._waiting.popleft(), _RequestTurn(self._page, self._slots)
            self._on_way.append(turn)
            # With the context of the page: what it logs, and who records its requests.
            threading.Thread(target=copy_context().run, args=(self._work, asked, turn), daemon=True).start()
        return self._left_s()

    def _work(self, asked: AskedRequest, turn: _RequestTurn) -> None:
        answer = None
        try:
            answer = self._answer(asked.request, turn)
        except Exception as error:  # noqa: BLE001 (raised again by the thread of the page)
            self._page.events.put(error)
        finally:
            turn.leave()
            # Of a page that ended long ago, the loop of the browser may have ended as well.
            with suppress(RuntimeError):
                self._settle(asked.future, answer)
            self._page.events.put(turn)


class _RequestTurn:
    """The throttle of one request: the slots of the page, one request at a time from its wait to its sending."""

    def __init__(self, page: BrowserPage, slots: threading.Lock) -> None:
        self._page, self._slots, self._throttle = page, slots, page.clock.turn
        self._is_holding = False
        self.waited_s = 0.0
        self.began_at = time.monotonic()

    def begin(self) -> None:
        """Wait for the requests before, then for the slot."""
        self._wait(self._throttle.begin)

    def step_back(self) -> None:
        """Put the page off where its next slot is far."""
        self._throttle.step_back()

    def confirm(self) -> None:
        """Confirm the slot."""
        self._wait(self._throttle.confirm)

    def sent(self, at: float) -> None:
        """Note the sending, and let the next request have its slot."""
        self._throttle.sent(at)
        self.leave()

    def leave(self) -> None:
        """Let the next request have its slot."""
        if self._is_holding:
            self._is_holding = False
            self._slots.release()

    def _wait(self, step: Callable[[], None]) -> None:
        began, waited_s = time.monotonic(), self._throttle.waited_s
        if not self._is_holding:
            self._slots.acquire()
            self._is_holding = True
            self.waited_s += time.monotonic() - began
            waited_s = self._throttle.waited_s
        if self._page.is_over:
            raise DeadlineExceeded(f"{self._page.url} ended before a request of its scripts was sent")
        step()
        self.waited_s += self._throttle.waited_s - waited_s
