"""Signals made safe: Ctrl-C and kill raise at once, but never between a process's start and its registration."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Self

# From linux/prctl.h: the signal that a process gets when its parent dies.
_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP asked for the end."""


class Interrupts:
    """Signal handlers: SIGINT raises KeyboardInterrupt, SIGTERM and SIGHUP raise Terminated, outside of shields.

    `count` is the number of requests to end: a second one means hurry. Only for the main thread, as signals are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._depth = 0
        self._pending: int | None = None
        self._before: dict[int, object] = {}
        self._woken, self._wake = socket.socketpair()

    def __enter__(self) -> Self:
        # signal.set_wakeup_fd demands a socket that does not block.
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
        """Sleep until a signal. `time.sleep` would sleep through a signal that comes just before."""
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


def leash(number: signal.Signals) -> Callable[[], None] | None:
    """Return a function that on Linux has the kernel send a signal to a child at the supervisor's death.

    The kernel means the thread that starts the child, so that must be one that lasts.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        # The supervisor died before prctl took effect: its signal will never come.
        if os.getppid() != parent:
            os._exit(1)

    return tie
