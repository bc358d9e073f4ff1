"""The retry policy: the fate of a request after a failed attempt, which is retry later, park, or bury. Pure.

Exponential backoff with equal jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015): the delay is
drawn from the upper half of the interval, so that a retry never comes at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawl_tasks.errors import Fate, PageError, Scope
from crawl_tasks.model import State
from crawl_tasks.model.surrogates import whole_text


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A site's terms for retries. The delay begins at `base_s` and doubles with each attempt up to `max_s`."""

    max_attempts: int
    base_s: float
    max_s: float


NO_RETRY = RetryPolicy(max_attempts=0, base_s=0.0, max_s=0.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The next state of a request. A delayed one waits `delay_ms`, and the whole site rests for `rest_ms`.

    `says_nothing` counts for the circuit breaker: a page came, but none that the site file describes. `slows_site`
    raises the site's backoff (lua/lib/backoff.lua), whatever becomes of the request. `is_named` is true where the site
    named the time of its rest. The ledger decides otherwise where the `scope` of the failure is a site: the request is
    ready again, and the attempt does not count (lua/lib/failures.lua).
    """

    state: State
    reason: str
    details: str
    delay_ms: int = 0
    rest_ms: int = 0
    says_nothing: bool = False
    slows_site: bool = False
    scope: Scope = Scope.PAGE
    is_named: bool = False


def judge(error: PageError, attempt: int, policy: RetryPolicy, luck: float) -> Verdict:
    """Return the verdict on a request whose attempt failed with `error`.

    Args:
        error: the failure of the attempt.
        attempt: the number of attempts, this one included.
        policy: the site's terms.
        luck: uniform in [0, 1).
    """
    # The message of a site's own function may have any length, newlines and half characters. Redis holds one line.
    details = whole_text(" ".join(str(error).split())[:500])
    if error.fate is Fate.PARK:
        return Verdict(State.PARKED, error.reason, details, says_nothing=error.says_nothing)
    ceiling_s = min(policy.max_s, policy.base_s * 2.0 ** (attempt - 1))
    delay_s = ceiling_s * (0.5 + luck / 2)
    asked_s = error.retry_after_s or 0.0
    # A site that names a time (Retry-After) knows best. Else the whole site rests for one base delay at the most.
    rest_s = asked_s or (min(policy.base_s, delay_s) if error.rests_site else 0.0)
    is_counted = error.scope is not Scope.NOTHING
    if asked_s and not is_counted:  # nothing failed: no time to recover
        delay_s = asked_s
    is_over = error.fate is not Fate.RETRY or (is_counted and attempt >= policy.max_attempts)
    # The site rests also after the last attempt of a request.
    return Verdict(
        State.DEAD if is_over else State.DELAYED,
        error.reason,
        details,
        delay_ms=0 if is_over else round(max(delay_s, asked_s) * 1000),
        rest_ms=round(rest_s * 1000),
        slows_site=error.slows_site,
        scope=error.scope,
        is_named=asked_s > 0,
    )
