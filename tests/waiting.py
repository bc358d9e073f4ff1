"""Wait for a condition, with a deadline; never for a guess."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], within_s: float = 10.0, every_s: float = 0.01) -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        time.sleep(every_s)
