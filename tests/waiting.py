"""Wait for a condition, with a deadline; never for a guess."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""No test asserts a time: this is only when a wait is given up, on the busiest machine."""


def eventually(condition: Callable[[], object], every_s: float = 0.01) -> None:
    """Return as soon as the condition holds; fail when it does not hold within PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {condition}"
        time.sleep(every_s)
