"""The exit codes of all commands. Ctrl-C may come before anything else is imported, click included."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes. The errors of errors.py carry the same numbers."""

    OK = 0
    FAILURES = 1
    USAGE = 2
    BACKEND = 3
    STANDSTILL = 4
    # 128 plus the number of the signal, as shells report it: SIGINT 2, SIGTERM 15.
    INTERRUPTED = 130
    TERMINATED = 143
