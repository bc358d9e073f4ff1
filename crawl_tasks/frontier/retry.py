"""What follows a failed attempt: retry later, park, bury. Pure.

Full jitter as in "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015), over the upper half of the
interval, so that a retry never comes at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawl_tasks.errors import Fate, PageError
from crawl_tasks.model import State
from crawl_tasks.surrogates import whole_text


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A site's terms for trying again. `base_s` doubles with each attempt up to `max_s`."""

    max_attempts: int
    base_s: float
    max_s: float


NO_RETRY = RetryPolicy(max_attempts=0, base_s=0.0, max_s=0.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state a request goes to, after `delay_ms` when delayed. `rest_ms` is how long its whole site rests.

    `says_nothing` is for the breaker: a page came, and was not one that the site file describes. `slows_site` is for
    the gate: whatever becomes of the request, the site is asked more slowly (lua/_pace.lua).
    """

    state: State
    reason: str
    details: str
    delay_ms: int = 0
    rest_ms: int = 0
    says_nothing: bool = False
    slows_site: bool = False


def judge(error: PageError, attempt: int, policy: RetryPolicy, luck: float) -> Verdict:
    """Decide the fate of a request whose attempt number `attempt` (from 1) met `error`.

    Args:
        error: what happened.
        attempt: how many attempts were made, this one included.
        policy: the site's terms.
        luck: uniform in [0, 1).
    """
    details = whole_text(" ".join(str(error).split())[:500])  # a site's function may say anything
    if error.fate is Fate.PARK:
        return Verdict(State.PARKED, error.reason, details, says_nothing=error.says_nothing)
    ceiling_s = min(policy.max_s, policy.base_s * 2.0 ** (attempt - 1))
    delay_s = ceiling_s * (0.5 + luck / 2)
    asked_s = error.retry_after_s or 0.0
    rest_s = asked_s or (min(policy.base_s, delay_s) if error.rests_site else 0.0)
    is_over = error.fate is not Fate.RETRY or attempt >= policy.max_attempts
    return Verdict(  # the site gets its rest also where this request has had its last attempt
        State.DEAD if is_over else State.DELAYED,
        error.reason,
        details,
        delay_ms=0 if is_over else round(max(delay_s, asked_s) * 1000),
        rest_ms=round(rest_s * 1000),
        slows_site=error.slows_site,
    )
