"""The throttle: when a request may go out. A crawl asks for slots of the site (frontier/slot_throttle.py)."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Throttle(Protocol):
    """The pace of one attempt's requests, one slot each. `waited_s` does not count as the attempt's own time."""

    @property
    def waited_s(self) -> float:
        """Seconds waited so far."""
        ...

    def begin(self) -> None:
        """Wait for the slot of the next request, before anything is done for that request."""
        ...

    def step_back(self) -> None:
        """Put the attempt off where its next slot is far, so that no thread waits for it.

        Raises:
            NoTurn: the slot is far. The attempt is not counted.
        """
        ...

    def confirm(self) -> None:
        """Confirm the slot when the connection is open and sending is the next step.

        Raises:
            CrawlError: the request may not go at all.
        """
        ...

    def sent(self, at: float) -> None:
        """Note the moment of sending, by `time.monotonic`."""
        ...


class NoThrottle:
    """No throttle, for callers that need a page or two and are nobody's worker."""

    waited_s = 0.0

    def begin(self) -> None:
        """Do nothing."""

    def step_back(self) -> None:
        """Do nothing."""

    def confirm(self) -> None:
        """Do nothing."""

    def sent(self, at: float) -> None:
        """Do nothing."""


NO_THROTTLE = NoThrottle()


class Clock(NamedTuple):
    """The deadline of an attempt: a moment of `time.monotonic`, moved by the time waited for slots."""

    ends_at: float
    turn: Throttle = NO_THROTTLE

    @property
    def deadline(self) -> float:
        """The moment at which the attempt ends, as far as is known by now."""
        return self.ends_at + self.turn.waited_s
