"""Steps 4 and 5: a leased page's turns at the gate, so that requests reach the site as far apart as leases are given.

Between a lease and the bytes of its request lie a look at robots.txt, perhaps a connection that has to be opened, and
a machine that does something else. A request that is late by more than TOLERANCE_S gets a fresh turn first; what an
attempt sends beyond its first request (robots.txt, the hops of a redirect) gets turns of its own. Where a site asks for
no delay there is nothing to ask.
"""

from __future__ import annotations

import time

from crawl_tasks.frontier.answers import Moment
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Lease

TOLERANCE_S = 0.005
"""How much nearer two requests may come at the server than the gate's delay."""


class GateTurn:
    """The turns of one attempt at a site that asks for a delay.

    `asked_at` is the moment of `time.monotonic` before its lease was asked for.
    """

    def __init__(self, frontier: Frontier, lease: Lease, asked_at: float) -> None:
        self._frontier = frontier
        self._lease = lease
        self._since = asked_at
        self._is_used = False
        self.waited_s = 0.0

    def begin(self) -> None:
        """Wait until the next request may go."""
        if self._is_used:
            self._ask(Moment.NEXT)

    def confirm(self) -> None:
        """Take a fresh turn where the last one is too long ago; whoever had no other after it goes at once."""
        while self._is_late():
            self._ask(Moment.NEXT if self._is_used else Moment.LATE)
        self._is_used = True

    def sent(self) -> None:
        """Let the next turn wait, where the machine did something else between the last look and the sending."""
        if self._is_late():
            self._frontier.turn(self._lease, Moment.SENT)

    def _is_late(self) -> bool:
        return time.monotonic() - self._since > TOLERANCE_S

    def _ask(self, moment: Moment) -> None:
        asked_at = time.monotonic()
        wait_s = self._frontier.turn(self._lease, moment)
        self._is_used = False
        # The turn begins between these: no earlier than it does at the latest, and late as from the earliest.
        self._since = asked_at + wait_s
        if wait_s:
            time.sleep(wait_s)
        self.waited_s += time.monotonic() - asked_at
