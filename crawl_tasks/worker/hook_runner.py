"""The hook runner: calls a site's functions for events beside the pages, so that none can hold up or fail a page.

Events wait in a bounded queue, and a thread of its own calls the functions. An exception of a function is logged and
counted (`hook_failed`). One that hangs is left behind, and another thread goes on, three times in a process. Events
that find the queue full are lost and counted (`hook_lost`).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from crawl_tasks.errors import Crashed, SiteError
from crawl_tasks.frontier.replies import IdleState
from crawl_tasks.logs import OutageLog
from crawl_tasks.model.own_counters import count

if TYPE_CHECKING:
    from crawl_tasks.sites.event_hooks import Hooks
    from crawl_tasks.sites.schema import Site

log = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
HANGS_AFTER_S: Final = 30.0
GRACE_S: Final = 5.0
"""The time that hooks get at the end of a worker, in seconds."""
MOST_LEFT_BEHIND: Final = 3


class HookRunner:
    """The hook runner of one process. Thread-safe. `tell` returns at once, whatever the functions do."""

    def __init__(
        self,
        *,
        hangs_after_s: float = HANGS_AFTER_S,
        most_waiting: int = MOST_WAITING,
        clock: Callable[[], float] = time.monotonic,
        read: Callable[[str], Site] | None = None,
    ) -> None:
        """Make a runner. `read` returns the site of a published text, or refuses it; without it, all are taken."""
        self._hangs_after_s = hangs_after_s
        self._clock = clock
        self._waiting: queue.Queue[tuple[str, str, str, Mapping[str, object]]] = queue.Queue(most_waiting)
        self._lock = threading.Lock()
        self._threads = 0
        self._busy: tuple[float, str, str] | None = None
        self._outage = OutageLog(log, "a hook fails")
        self._read_site = read
        self._read: dict[str, tuple[str, Hooks | None]] = {}

    @property
    def is_busy(self) -> bool:
        """Return whether a function runs now."""
        return self._busy is not None

    def tell(self, site: str, hooks: Hooks, event: str, **values: object) -> None:
        """Have the function for an event called, where the site file names one."""
        function = getattr(hooks, event)
        if function is None:
            return
        self._keep_a_thread()
        try:
            self._waiting.put_nowait((site, event, function, values))
        except queue.Full:
            count(site, "hook_lost")

    def tell_idle(self, site: str, hooks: Hooks, state: IdleState) -> None:
        """Have the functions called for a site whose last open request has ended."""
        if state is not IdleState.OPEN:
            self.tell(site, hooks, "site_idle")
        if state is IdleState.ENDED:
            self.tell(site, hooks, "site_finished", reason="idle")

    def read(self, site: str, text: str, *events: str) -> Hooks | None:
        """Return the hooks in the published text of a site, None where it names none of these events."""
        if not any(f'"{event}"' in text for event in events):
            return None
        known = self._read.get(site)
        if known is None or known[0] != text:
            # Reading a site file costs 50 ms, which a process that compiles no sites does only for its hooks.
            from crawl_tasks.sites.site_json import read_site  # noqa: PLC0415

            try:
                known = (text, (self._read_site or read_site)(text).hooks)
            except SiteError as error:
                # Another version wrote it, or its functions are not of this process. Said once for each text.
                log.error("no hooks of this site are called", extra={"site": site, "error": str(error)})
                known = (text, None)
            self._read[site] = known
        return known[1]

    def finish(self, within_s: float) -> None:
        """Wait until the functions were called for all events, so long at most: the process is about to end."""
        deadline = self._clock() + within_s
        while self._waiting.unfinished_tasks and self._clock() < deadline:
            time.sleep(0.01)

    def _keep_a_thread(self) -> None:
        """Start the first thread, or one in place of a thread that hangs."""
        with self._lock:
            busy, now = self._busy, self._clock()
            hangs = busy is not None and now - busy[0] > self._hangs_after_s
            if (self._threads and not hangs) or self._threads > MOST_LEFT_BEHIND:
                return
            if busy is not None and hangs:
                count(busy[1], "hook_hung")
                log.error("a hook hangs and is left behind", extra={"site": busy[1], "hook": busy[2]})
            self._busy = None
            self._threads += 1
            threading.Thread(target=self._run, args=(self._threads,), name="hooks", daemon=True).start()

    def _run(self, number: int) -> None:
        # Reading site files costs 60 ms, which a process without hooks does without.
        from crawl_tasks.sites.event_hooks import OFFERED  # noqa: PLC0415
        from crawl_tasks.sites.functions import failure_text, find_function  # noqa: PLC0415

        # A thread that was left behind and goes on after all finds another number, and ends.
        while number == self._threads:
            site, event, function, values = self._waiting.get()
            self._busy = turn = (self._clock(), site, function)
            call: Callable[..., object] | None = None
            try:
                call, wanted = find_function(function, f"{site}: hooks.{event}", OFFERED[event])
                offers = {"site": site, **values}
                call(**{name: offers[name] for name in wanted})
                self._outage.end()
            except Exception as error:
                # Foreign code may raise anything, and the crawl goes on.
                count(site, "hook_failed")
                log.debug("hook failed", exc_info=True)
                self._outage.fail(Crashed(f"{site}: {event}: {failure_text(error, call)}") if call else error)
            if self._busy is turn:
                self._busy = None
            self._waiting.task_done()
