"""Step 5, fetch: what a status and its headers mean. Pure: the one place where a status becomes a fate."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache

from crawl_tasks.errors import AccessDenied, BadRedirect, BadStatus, Gone, PageError, ServerError, SlowDown
from crawl_tasks.urls import normalize

MAX_RETRY_AFTER_S = 86_400.0
# Clocks that are kept right differ by seconds; a page that is older than it says would shift all its relative times.
_CREDIBLE_S = 300.0
_MOST_AGE_S = 86_400.0

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DENIED = frozenset({401, 403, 407, 451})
_GONE = frozenset({404, 410})
_TRY_AGAIN = frozenset({408, 425})
_BUSY = frozenset({408, 502, 503, 504, 520, 522, 524})  # from 520 on Cloudflare's: the forum behind it is too slow


def failure(url: str, status: int, headers: Mapping[str, str], now: float) -> PageError | None:
    """Give the error an answer means, or None where it is a page. Redirects are followed before this is asked.

    Args:
        url: for the message.
        status: of the response.
        headers: of the response, names in lower case.
        now: our clock, in seconds since the epoch.
    """
    if 200 <= status < 300 and status != 206:
        return None
    said = f"{url} answered {status}"
    if status in _GONE:
        return Gone(said)
    if status in _DENIED:
        return AccessDenied(f"{said}: it wants a login, or does not want us")
    if status == 429 or (status == 503 and "retry-after" in headers):
        wait = retry_after_s(headers, now)
        return SlowDown(f"{said}: it asks for patience" + (f" of {wait:.0f} s" if wait is not None else ""), wait)
    if 500 <= status < 600 or status in _TRY_AGAIN:
        return ServerError(said, is_busy=status in _BUSY)
    return BadStatus(f"{said}, which is nothing we can use")


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Read Retry-After, in seconds from now, at most a day; a date is relative to the server's own clock."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), MAX_RETRY_AFTER_S)
    until = _date(text)
    if until is None:
        return None
    there = _date(headers.get("date", ""))
    return min(max(until - (now if there is None else there), 0.0), MAX_RETRY_AFTER_S)


def moment(headers: Mapping[str, str], now: float) -> float:
    """Return the moment that relative times of a page count from: its Date where that is credible, else now.

    A Date is credible where it is, with the Age (RFC 9111, 5.1), within five minutes of now.
    """
    made = _made(headers, now)
    return now if made is None else made[0]


def age_s(headers: Mapping[str, str], now: float) -> float:
    """Return how long a page had lain in a cache, by its Age.

    Age is a duration: no clock of the forum matters. One of over five minutes is believed only where the Date fits,
    one of over a day never, because a page of a wrong Age would seem to be older than what is known.
    """
    text = headers.get("age", "").strip()
    age = float(text) if text.isascii() and text.isdigit() else 0.0
    is_credible = age <= _CREDIBLE_S or (age <= _MOST_AGE_S and _made(headers, now) is not None)
    return age if is_credible else 0.0


def _made(headers: Mapping[str, str], now: float) -> tuple[float, float] | None:
    """Return the Date and the Age of an answer; None where the two do not lead to now."""
    there = _date(headers.get("date", ""))
    if there is None:
        return None
    text = headers.get("age", "").strip()
    age = float(text) if text.isascii() and text.isdigit() else 0.0
    return (there, age) if abs(there + age - now) <= _CREDIBLE_S else None


def next_hop(url: str, status: int, headers: Mapping[str, str], *, downgrade: bool = False) -> str | None:
    """Give the address a redirect leads to, normalised; None where the answer is no redirect.

    Args:
        url: where the answer came from, normalised.
        status: of the answer.
        headers: of the answer, names in lower case.
        downgrade: follow from https to http too.

    Raises:
        BadRedirect: there is no Location, or it leads from https to http.
        RefusedAddress: the Location is no address we could go to.
    """
    if status not in _REDIRECTS:
        return None
    location = headers.get("location", "").strip()
    if not location:
        raise BadRedirect(f"{url} answered {status} without a Location")
    target = normalize(_as_utf8(location), url)
    if not downgrade and url.startswith("https:") and not target.startswith("https:"):
        raise BadRedirect(f"{url} redirects to {target[:200]}: from https to http is not followed")
    return target


def _as_utf8(text: str) -> str:
    """Undo the Latin-1 that header bytes are read as, where they are UTF-8 in truth."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


@lru_cache(maxsize=64)
def _date(text: str) -> float | None:
    """Read a date; kept, because all answers of a second have the same and reading it takes 20 us."""
    try:
        when = parsedate_to_datetime(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
