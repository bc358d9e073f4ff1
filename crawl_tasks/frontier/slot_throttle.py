"""The throttle of a leased page: every request waits for a slot, so that requests reach the site a delay apart.

A slot is a span of Redis' clock, reserved ahead. The request goes within the span, and the next slot begins a delay
after the end. The worker translates the span to the local clock (slot_clock.py) and waits there, however far away Redis
is. A request that misses the slot gets another one, twice as long each time, and is put off after MOST_ASKED. Later
requests of an attempt (robots.txt, the hops of a redirect) get slots of their own. A site without a delay has no slots.
"""

from __future__ import annotations

import time

from crawl_tasks.errors import NoTurn
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.replies import Moment
from crawl_tasks.model import Lease, SlotSpan

TOLERANCE_S = 0.005
"""The time in seconds by which two requests may reach the server closer together than the site's delay.

One millisecond of the five is the free part of a slot (PROMPT in slots.lua). The rest covers the error of the clocks,
and the time between the last look at the clock and the sending.
"""

MOST_ASKED = 4
"""The most slots that a request may miss and still get another. The last slot is sixteen times as long as usual."""

IN_HAND_S = 0.25
"""The last part of a wait, in seconds, which is spent with an open connection, within the attempt's deadline."""


LATE_S = 0.05
"""The time in seconds by which a request must miss its slot to count as late: a busy machine takes that at times."""

FREE_S = 0.001
"""The free part of a slot: PROMPT of slots.lua."""


class NoDelayThrottle:
    """The requests of one attempt at a site without a delay: none waits, and all count in the daily budget.

    The first was counted with the lease. Others are robots.txt, the hops of a redirect, and a request sent again
    because the server closed the connection that was kept open.
    """

    waited_s = 0.0

    def __init__(self, frontier: Frontier, lease: Lease) -> None:
        self._frontier = frontier
        self._lease = lease
        self._is_used = False

    def begin(self) -> None:
        """Do nothing."""

    def step_back(self) -> None:
        """Do nothing."""

    def confirm(self) -> None:
        """Count a further request.

        Raises:
            NoTurn: the lease was lost.
        """
        if self._is_used:
            self._frontier.reserve_slot(self._lease, Moment.NEXT)
        self._is_used = True

    def sent(self, at: float) -> None:
        """Do nothing."""


class SlotThrottle:
    """The slots of one attempt at a site with a delay. The first slot came with the lease."""

    def __init__(self, frontier: Frontier, lease: Lease, span: SlotSpan) -> None:
        self._frontier = frontier
        self._lease = lease
        self._span = span
        self._is_used = False
        self._is_of_lease = True
        # A worker that is often late has longer slots, which lease.lua has counted.
        length_s = span.shuts_at - span.opens_at
        self._is_counted = length_s > max(LATE_S, lease.delay_ms / 10_000) + FREE_S
        self.waited_s = 0.0

    def begin(self) -> None:
        """Wait until shortly before the next slot."""
        if self._is_used:
            self._ask(Moment.NEXT)
        self._wait_until(self._span.opens_at - IN_HAND_S)

    def step_back(self) -> None:
        """Put the attempt off unless its next slot is near. A new lease brings the slot when its time has come.

        Raises:
            NoTurn: the site's delay is longer than a thread waits with an open connection.
        """
        delay_s = self._lease.delay_ms / 1000
        if delay_s > IN_HAND_S:
            raise NoTurn(f"{self._lease.request.address} waits for its slot behind robots.txt", delay_s)

    def confirm(self) -> None:
        """Wait for the slot, and reserve another one after a miss.

        Raises:
            NoTurn: too many slots were missed, the site rests by now, or the lease was lost.
        """
        # A slot serves one request: the next hop of an attempt needs another one.
        if self._is_used:
            self._ask(Moment.NEXT)
        for missed in range(1, MOST_ASKED + 2):
            if self._hits_slot():
                self._is_used = True
                return
            if missed <= MOST_ASKED:
                self._ask(Moment.LATE, missed)
        raise NoTurn(f"{self._lease.request.address} was not asked for: its turns were missed {missed} times")

    def sent(self, at: float) -> None:
        """Move the next slot after a request that left late, at `at` of `time.monotonic`."""
        # Between the last look at the clock and the sending the system may have run something else.
        if at > self._span.shuts_at:
            self._frontier.sent(self._lease, at, is_late=self._counts_as_late(at))

    def _counts_as_late(self, at: float) -> bool:
        """Return whether a slot that was missed at a moment is to be counted: once an attempt, and no short one."""
        is_late = not self._is_counted and at - self._span.shuts_at > LATE_S
        self._is_counted = self._is_counted or is_late
        return is_late

    def _hits_slot(self) -> bool:
        """Wait for the slot and return whether the slot is still open."""
        span, clock, ready_at = self._span, self._frontier.clock, time.monotonic()
        if self._is_of_lease:
            clock.note_ready(ready_at - span.given_at)
            self._is_of_lease = False
        # A request that is ready after the opening did not sleep: its lateness says nothing of this machine's wake-ups.
        if ready_at >= span.opens_at:
            return ready_at <= span.shuts_at
        self._wait_until(span.opens_at)
        awake_at = time.monotonic()
        clock.note_late(awake_at - span.opens_at)
        return awake_at <= span.shuts_at

    def _ask(self, moment: Moment, missed: int = 0) -> None:
        asked_at = time.monotonic()
        is_late = moment is Moment.LATE and self._counts_as_late(asked_at)
        self._span = self._frontier.reserve_slot(self._lease, moment, missed, is_late=is_late)
        self._is_used = self._is_of_lease = False
        self.waited_s += time.monotonic() - asked_at

    def _wait_until(self, moment: float) -> None:
        """Sleep until a moment of `time.monotonic`."""
        began = time.monotonic()
        if began < moment:
            time.sleep(moment - began)
            self.waited_s += time.monotonic() - began
