"""Steps 4 and 5: a leased page's turns at the gate, so that requests reach the site as far apart as the gate says.

A turn is a span of Redis' clock, reserved ahead: the request goes within it, and the next turn begins a delay after its
end. The worker translates the span to its own clock (clock.py) and waits for it where it stands, however far away Redis
is. A request that is not sent within its span gets another turn, a longer one each time, and is put off after
MOST_ASKED. What an attempt sends beyond its first request (robots.txt, the hops of a redirect) gets turns of its own.
Where a site asks for no delay there is nothing to ask.
"""

from __future__ import annotations

import time

from crawl_tasks.errors import NoTurn
from crawl_tasks.frontier.answers import Moment
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Lease, TurnSpan

TOLERANCE_S = 0.005
"""How much nearer two requests may come at the server than the gate's delay.

Of these a turn has one millisecond for nothing. The rest is for what clocks are off, and for what the system does
between the last look at the clock and the sending.
"""

MOST_ASKED = 4
"""How often a request that missed its turn gets another: the last one is sixteen times as long as usual."""

IN_HAND_S = 0.25
"""The last part of a wait is spent with the connection open, within the attempt's deadline."""


class GateTurn:
    """The turns of one attempt at a site that asks for a delay; the first came with its lease."""

    def __init__(self, frontier: Frontier, lease: Lease, span: TurnSpan) -> None:
        self._frontier = frontier
        self._lease = lease
        self._span = span
        self._is_used = False
        self._is_of_lease = True
        self.waited_s = 0.0

    def begin(self) -> None:
        """Wait until the next request may nearly go."""
        if self._is_used:
            self._ask(Moment.NEXT)
        self._wait_until(self._span.opens_at - IN_HAND_S)

    def confirm(self) -> None:
        """Wait for the turn, and take another one where it is missed.

        Raises:
            NoTurn: it was missed too often, the site rests by now, or the lease was lost.
        """
        if self._is_used:
            self._ask(Moment.NEXT)
        for missed in range(1, MOST_ASKED + 2):
            if self._keeps_turn():
                self._is_used = True
                return
            if missed <= MOST_ASKED:
                self._ask(Moment.LATE, missed)
        raise NoTurn(f"{self._lease.request.address} was not asked for: its turns were missed {missed} times")

    def sent(self, at: float) -> None:
        """Let the next turn wait, where the machine did something else between the last look and the sending."""
        if at > self._span.shuts_at:
            self._frontier.sent(self._lease, at)

    def _keeps_turn(self) -> bool:
        """Wait for the turn and say whether it is still open."""
        span, clock, ready_at = self._span, self._frontier.clock, time.monotonic()
        if self._is_of_lease:
            clock.note_ready(ready_at - span.given_at)
            self._is_of_lease = False
        if ready_at >= span.opens_at:
            return ready_at <= span.shuts_at
        self._wait_until(span.opens_at)
        awake_at = time.monotonic()
        clock.note_late(awake_at - span.opens_at)
        return awake_at <= span.shuts_at

    def _ask(self, moment: Moment, missed: int = 0) -> None:
        asked_at = time.monotonic()
        self._span = self._frontier.turn(self._lease, moment, missed)
        self._is_used = self._is_of_lease = False
        self.waited_s += time.monotonic() - asked_at

    def _wait_until(self, moment: float) -> None:
        """Sleep until a moment of `time.monotonic`."""
        began = time.monotonic()
        if began < moment:
            time.sleep(moment - began)
            self.waited_s += time.monotonic() - began
