"""What the exit code of every command means."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes; the errors of errors.py carry the same numbers."""

    OK = 0
    FAILURES = 1
    USAGE = 2
    BACKEND = 3
    INTERRUPTED = 130
    TERMINATED = 143
