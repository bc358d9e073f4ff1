"""Step 5, fetch: when a request may go out. Whoever fetches says; a crawl asks the site's gate (frontier/turn.py)."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Turn(Protocol):
    """What one attempt may send, a request a turn. `waited_s` is how long it was held up, which is not its own time."""

    @property
    def waited_s(self) -> float:
        """Seconds waited so far."""
        ...

    def begin(self) -> None:
        """Wait until the next request may go, before anything is done for it."""
        ...

    def confirm(self) -> None:
        """Be sure that it may go now, when the connection is there and the next thing is to send.

        Raises:
            CrawlError: it may not go at all.
        """
        ...

    def sent(self, at: float) -> None:
        """Note when it went, as `time.monotonic` has it."""
        ...


class AtOnce:
    """For whoever asks for a page or two and is nobody's worker."""

    waited_s = 0.0

    def begin(self) -> None:
        """Go on."""

    def confirm(self) -> None:
        """Go on."""

    def sent(self, at: float) -> None:
        """Go on."""


AT_ONCE = AtOnce()


class Clock(NamedTuple):
    """How long an attempt may last: until a moment of `time.monotonic`, and longer by what it waited for its turns."""

    ends_at: float
    turn: Turn = AT_ONCE

    @property
    def deadline(self) -> float:
        """The moment at which it ends, as far as is known by now."""
        return self.ends_at + self.turn.waited_s
