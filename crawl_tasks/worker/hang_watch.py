"""The hang watch: a thread that fails pages whose functions do not return, and ends a worker that lost most threads.

Python cannot end a thread. So the page fails before its lease ends, the thread's late result is refused by the fence,
and a worker with more hung threads than others finishes the other pages and ends. Its supervisor starts another.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

from crawl_tasks.errors import BackendError, Hung
from crawl_tasks.logs import page_at_hand
from crawl_tasks.model import Lease
from crawl_tasks.worker.page_fetch import LeasedPage
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.task_result import Outcome, TaskResult

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
STOPPED_S = 5.0
AFTER_STOP_S = 10.0
"""Time without a look after which a process counts as stopped, and time that its pages get then, in seconds."""
MARGIN_S = 3.0
"""Time before the end of a lease at which its page fails, in seconds: for two looks and a call to Redis."""
FROZEN_S = 120.0
"""Silence after which a process whose threads all stand still is ended, in seconds.

A regular expression that backtracks for ever lets no other thread run, not even this watch.
"""
_OURS = "crawl_tasks."
_WORK = ("crawl_tasks.fetch.", "crawl_tasks.registry.", "crawl_tasks.worker.page_reading.")
_LEDGER = "crawl_tasks.frontier."
HUNG_EXIT = 70
"""The exit code of a worker that lost most threads: EX_SOFTWARE of sysexits.h."""


class HangWatch:
    """The watch over the threads of one process."""

    def __init__(
        self,
        pages: PageTask,
        *,
        threads: int = 1,
        end: Callable[[], None] | None = None,
        tell: Callable[[int, TaskResult], None] | None = None,
    ) -> None:
        """Make a watch.

        Args:
            pages: the page task, which knows the pages in hand.
            threads: the number of threads that work on pages.
            end: asks the worker to finish its pages and take no more. Without it the process goes on whatever hangs.
            tell: tells Celery the result of a thread's task. Without it the thread does so, if it returns.
        """
        self._pages = pages
        self._threads = threads
        self._end = end
        self._tell = tell
        self._hung: dict[int, Lease] = {}
        self._is_leaving = False

    def start(self) -> None:
        """Watch in a thread of its own, to the end of the process."""
        threading.Thread(target=self._run, name="hang-watch", daemon=True).start()

    def leave(self) -> None:
        """Let the process end without waiting for hung pages: the worker was asked to end."""
        self._is_leaving = True

    def _run(self) -> None:
        woken_at = -math.inf
        while True:
            slept_at = time.monotonic()
            time.sleep(LOOK_EVERY_S)
            if sys.__stderr__ is not None:
                faulthandler.dump_traceback_later(FROZEN_S, exit=True, file=sys.__stderr__)
            now = time.monotonic()
            if now - slept_at > STOPPED_S:
                # The whole process was stopped, or the machine is very busy: its pages did not hang, and need a moment.
                woken_at = now
            if now - woken_at < AFTER_STOP_S:
                continue
            self.look()
            if self._end is not None and (self.has_lost_most() or (self._is_leaving and self._still_hung())):
                self._give_up(self._end)

    def look(self) -> None:
        """Fail the pages that are about to outlive their leases, once each, with the stacks in the log."""
        in_hand = list(self._pages.in_hand.items())
        overdue = [held for held in in_hand if self._hung.get(held[0]) is not held[1].lease and is_overdue(held[1])]
        frames = stacks() if overdue else {}
        for thread, page in overdue:
            if is_at_work(frame := frames.get(thread)):
                self._hung[thread] = page.lease
                self._fail(thread, page, frame)

    def has_lost_most(self) -> bool:
        """Return whether more than half of the threads hang."""
        return 2 * len(self._still_hung()) > self._threads

    def _still_hung(self) -> dict[int, Lease]:
        hands = self._pages.in_hand
        self._hung = {
            thread: lease
            for thread, lease in self._hung.items()
            if (page := hands.get(thread)) is not None and page.lease is lease
        }
        return self._hung

    def _fail(self, thread: int, page: LeasedPage, frame: FrameType | None) -> None:
        error = Hung(f"not done after {page.timer.worked_s():.0f} s, in {_function_in(frame)}")
        error = error.with_traceback(_traceback_of(frame))
        token = page_at_hand.set(page.lease)
        try:
            log.error("page hangs, its thread is lost until it returns", exc_info=error)
            # Before the ledger decides: a thread that returns at the same moment finds its lease lost, and the page
            # does not come again.
            page.late = TaskResult(Outcome.PARKED, f"{error.reason}: {error}")
            result = self._pages.commits.fail(page.lease, error, page.timer)
            if result.outcome == Outcome.LEASE_LOST:
                page.late = None
            elif self._tell is not None:
                self._tell(thread, result)
        except BackendError as away:
            page.late = None
            log.warning("the page cannot be failed, its lease runs out", extra={"error": str(away)})
        finally:
            page_at_hand.reset(token)

    def _give_up(self, end: Callable[[], None]) -> None:
        """End the process when the threads that do not hang have finished their pages."""
        counts = {"hung": len(self._hung), "threads": self._threads}
        log.critical("most threads hang: this worker ends, for its supervisor to start another", extra=counts)
        end()
        # Each page that is still in hand ends, or hangs by the end of its lease, or waits 21 s for Redis at most.
        while len(self._pages.in_hand) > len(self._still_hung()):
            time.sleep(LOOK_EVERY_S / 10)
            self.look()
        # The other threads never return, so that no orderly end of the interpreter is possible.
        logging.shutdown()
        os._exit(HUNG_EXIT)


def stacks() -> dict[int, FrameType]:
    """Return the present stack of each thread, by the thread's number."""
    # In Python 3.11 a collection of garbage within this call can stop the process for good (python/cpython#106883).
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if is_collecting:
            gc.enable()


def is_at_work(frame: FrameType | None) -> bool:
    """Return whether a thread fetches or reads a page, by its stack. One that waits for Redis does not hang."""
    modules: set[str] = set()
    while frame is not None:
        modules.add(f"{frame.f_globals.get('__name__')}.")
        frame = frame.f_back
    return any(name.startswith(_WORK) for name in modules) and not any(name.startswith(_LEDGER) for name in modules)


def _function_in(frame: FrameType | None) -> str:
    """Return the place of the function that our code called, as in "parse, line 7 of forum.py"."""
    called = frame
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith(_OURS):
        called, frame = frame, frame.f_back
    if called is None:
        return "an unknown place"
    return f"{called.f_code.co_qualname}, line {called.f_lineno} of {called.f_code.co_filename}"


def _traceback_of(frame: FrameType | None) -> TracebackType | None:
    """Return the present stack of a thread as a traceback, which all log formats write in full."""
    traceback: TracebackType | None = None
    while frame is not None:
        traceback = TracebackType(traceback, frame, max(0, frame.f_lasti), frame.f_lineno)
        frame = frame.f_back
    return traceback


def is_overdue(page: LeasedPage) -> bool:
    """Return whether the lease of a page ends soon, by the worker's own time of work."""
    lease = page.lease
    lease_s = (lease.deadline_ms - lease.at_ms) / 1000
    if lease.slot is not None:
        # The lease counts from the end of the slot, and waiting for slots makes it longer.
        lease_s -= lease.slot.shuts_at - lease.slot.given_at
    return page.timer.worked_s() > lease_s - min(MARGIN_S, lease_s / 4)
