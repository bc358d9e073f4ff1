"""The result of a task, and the outcomes that Celery and its monitors show as failures or retries."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """The outcome of a message, beside the names of lease.lua's refusals."""

    DONE = "done"
    GONE = "gone"
    DELAYED = "delayed"
    READY = "ready"
    PARKED = "parked"
    DEAD = "dead"
    LEASE_LOST = "lease lost"
    REFUSED = "refused"
    BACKEND_FAILED = "backend failed"
    ADMITTED = "admitted"
    KNOWN = "known"


FAILED = frozenset({Outcome.PARKED, Outcome.DEAD, Outcome.REFUSED})
RETRIED = frozenset({Outcome.DELAYED, Outcome.READY, Outcome.LEASE_LOST, Outcome.BACKEND_FAILED})


class TaskResult(NamedTuple):
    """The result of a task: its outcome, and for a failure the reason."""

    outcome: str
    reason: str = ""

    def __str__(self) -> str:
        """Return the outcome, with the reason of a failure."""
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome
