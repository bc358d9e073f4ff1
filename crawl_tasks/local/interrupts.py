"""Ctrl-C and kill, made safe: they raise at once, but never between the start of a process and its registration."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from collections.abc import Iterator
from types import FrameType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP asked us to end."""


class Interrupts:
    """While entered, SIGINT raises KeyboardInterrupt, SIGTERM and SIGHUP raise Terminated, outside of shields.

    `count` says how often somebody asked: twice means, hurry. Only for the main thread, as signals are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._depth = 0
        self._pending: int | None = None
        self._before: dict[int, object] = {}
        self._woken, self._wake = socket.socketpair()

    def __enter__(self) -> Self:
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._wake_before = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave us
        signal.set_wakeup_fd(self._wake_before)
        self._woken.close()
        self._wake.close()

    def sleep(self, seconds: float) -> None:
        """Sleep; unlike with `time.sleep`, a signal that comes just before it is not heard only after it."""
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(64)
        select.select([self._woken], [], [], seconds)

    @contextlib.contextmanager
    def shield(self) -> Iterator[None]:
        """Hold a signal back until the end of the block."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if self._depth == 0 and self._pending is not None:
            number, self._pending = self._pending, None
            _raise(number)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self._depth:
            self._pending = number
        else:
            _raise(number)


def _raise(number: int) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated
