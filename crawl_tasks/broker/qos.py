"""The messages that a channel has taken: which count, when to ask for more, and what becomes of them at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from kombu.transport import redis as stock
from kombu.transport import virtual

from crawl_tasks.broker.message import is_hint

PAGE_S = 0.0015
"""The least time that a page takes a process, in seconds, with any number of threads.

A poll costs 0.1 ms, so the event loop of a busy worker waits until there can be room for more messages. The threads do
not run out of work: two such pauses pass before the next messages are there, as long as half of the prefetch takes.
"""

GATHER_MOST_S = 0.015


class QoS(stock.QoS):
    """The messages taken and not yet acknowledged. Hints are counted here only, never in Redis."""

    refill: ClassVar[int] = 4
    """A 1/refill of the prefetch must be free before a poll: several messages in one call, not one after every task."""

    elsewhere: ClassVar[Callable[[], int]] = staticmethod(int)
    """Returns the number of messages at work that this channel did not take, or has acknowledged already."""

    def outstanding(self) -> int:
        """Return the number of messages that are being worked on or wait in this process."""
        return len(self._delivered or ()) - len(self._dirty or ()) + self.elsewhere()

    def can_consume(self) -> bool:
        """Return whether to take messages now."""
        limit: int = self.prefetch_count
        return not limit or limit - self.outstanding() >= max(1, limit // self.refill)

    def can_consume_max_estimate(self) -> int | None:
        """Return the number of messages to take now, None for any."""
        return max(0, self.prefetch_count - self.outstanding()) if self.prefetch_count else None

    def pause_s(self) -> float:
        """Return the seconds without need for a poll while tasks are at work."""
        return min(PAGE_S * max(1, self.prefetch_count // self.refill), GATHER_MOST_S) if self.outstanding() else 0.0

    def append(self, message: virtual.Message, delivery_tag: str) -> None:
        """Count a message. receive.lua has recorded all but hints already."""
        virtual.QoS.append(self, message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message. Nothing of a hint is in Redis."""
        if self._is_recorded(delivery_tag):
            super().ack(delivery_tag)
        else:
            virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """Refuse a message. A refused hint is dropped: the frontier sends a wanted one again."""
        if self._is_recorded(delivery_tag):
            super().reject(delivery_tag, requeue)
        else:
            virtual.QoS.ack(self, delivery_tag)

    def restore_visible(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (kombu's signature)
        """Put messages back whose worker has died."""
        if not self.channel.hears_replies_only:
            super().restore_visible(*args, **kwargs)

    def _is_recorded(self, delivery_tag: str) -> bool:
        """Return whether a message is in Redis: no hint, and not forgotten with a broken connection."""
        message = self._delivered.get(delivery_tag)
        return message is not None and not is_hint(message)

    def restore_unacked(self, client: Any = None) -> None:  # noqa: ANN401 (kombu's signature)
        """Put taken messages back that were not worked on when the channel closes.

        On a broken connection nothing needs to be done: the frontier sends lost hints again, and the messages of others
        are in `unacked`.
        """
        try:
            for tag, message in list(self._delivered.items()):
                if is_hint(message):
                    self.channel.put_back(message)
                    self._delivered.pop(tag, None)
            super().restore_unacked(client)
        # After a lost connection kombu's channel has no client any more, hence AttributeError.
        except (*self.channel.connection_errors, AttributeError):
            self._delivered.clear()
