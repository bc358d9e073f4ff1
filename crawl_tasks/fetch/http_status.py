"""Status and headers of an answer as an error, by model/status_rules.py, with what its headers say. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import lru_cache

from crawl_tasks.errors import AccessDenied, BadRedirect, BadStatus, PageError, ServerError, SlowDown
from crawl_tasks.model import HttpRequest
from crawl_tasks.model.status_rules import meaning_of
from crawl_tasks.urls import normalize, origin_of

MAX_RETRY_AFTER_S = 86_400.0
# RFC 9110, 11.6.1. Others that forums behind a company's wall ask for cannot be spoken, and have to be named.
_SCHEME = re.compile(r"\b(?:Basic|Bearer|Digest|NTLM|Negotiate)\b")
# Clocks that are kept right differ by seconds. A page with a wrong Date would shift all its relative times.
_CREDIBLE_S = 300.0
_MOST_AGE_S = 86_400.0

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# From 520 on the codes are Cloudflare's, for a forum behind it that is too slow.
_BUSY = frozenset({408, 502, 504, 520, 522, 524})


def failure(url: str, status: int, headers: Mapping[str, str], now: float) -> PageError | None:
    """Return the error that an answer means, or None for a page. Redirects are followed before.

    Args:
        url: for the message.
        status: of the response.
        headers: of the response, names in lower case.
        now: our clock, in seconds since the epoch.
    """
    kind = meaning_of(status)
    if kind is None:
        return None
    text = f"{url} answered {status}"
    if kind is AccessDenied:
        schemes = sorted(set(_SCHEME.findall(headers.get("www-authenticate", ""))))
        login = f" ({', '.join(schemes)})" if schemes else ""
        return AccessDenied(f"{text}: it wants a login{login}, or does not want us")
    if kind is SlowDown:
        wait = retry_after_s(headers, now)
        return SlowDown(f"{text}: it asks for patience" + (f" of {wait:.0f} s" if wait is not None else ""), wait)
    if kind is ServerError:
        return ServerError(text, is_busy=status in _BUSY)
    return kind(f"{text}, which is nothing we can use" if kind is BadStatus else text)


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Return Retry-After in seconds from now, at most a day."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), MAX_RETRY_AFTER_S)
    until = date_of(text)
    if until is None:
        return None
    # A date is compared with the Date of the same answer: a wrong clock of the server cancels out.
    server_now = date_of(headers.get("date", ""))
    return min(max(until - (now if server_now is None else server_now), 0.0), MAX_RETRY_AFTER_S)


def moment(headers: Mapping[str, str], now: float) -> float:
    """Return the moment that relative times of a page count from: a credible Date, else now.

    A Date is credible if Date plus Age (RFC 9111, 5.1) is within five minutes of now.
    """
    made = _made(headers, now)
    return now if made is None else made[0]


def age_s(headers: Mapping[str, str], now: float) -> float:
    """Return how long a page had lain in a cache, in seconds, by its Age header.

    Age is a duration, so no clock of the forum matters. An Age over five minutes needs a Date that fits. An Age over a
    day is never believed: the page would seem older than the state that is known already.
    """
    age = _age_said(headers)
    is_credible = age <= _CREDIBLE_S or (age <= _MOST_AGE_S and _made(headers, now) is not None)
    return age if is_credible else 0.0


def _made(headers: Mapping[str, str], now: float) -> tuple[float, float] | None:
    """Return Date and Age of an answer, None if their sum is not near now."""
    made_at = date_of(headers.get("date", ""))
    if made_at is None:
        return None
    age = _age_said(headers)
    return (made_at, age) if abs(made_at + age - now) <= _CREDIBLE_S else None


def _age_said(headers: Mapping[str, str]) -> float:
    text = headers.get("age")
    return float(text) if text and (text := text.strip()).isascii() and text.isdigit() else 0.0


def next_hop(url: str, status: int, headers: Mapping[str, str], *, downgrade: bool = False) -> str | None:
    """Return the normalised target of a redirect, None for an answer that is no redirect.

    Args:
        url: of the answer, normalised.
        status: of the answer.
        headers: of the answer, names in lower case.
        downgrade: follow from https to http too.

    Raises:
        BadRedirect: there is no Location, or a redirect leads from https to http.
        RefusedAddress: the Location is not a valid address.
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


def redirected(http: HttpRequest, status: int, target: str) -> HttpRequest:
    """Return the request for the target of a redirect. A body goes along by 307 and 308, to the same origin only.

    Raises:
        BadRedirect: the body would go to another origin.
    """
    if http.body is None:
        return http._replace(url=target)
    if status in (307, 308):
        if origin_of(target) != origin_of(http.url):
            raise BadRedirect(f"a POST is redirected to {target[:200]}: its body goes to no other origin")
        return http._replace(url=target)
    kept = {name: value for name, value in http.headers.items() if name.lower() != "content-type"}
    return HttpRequest(target, kept)


def _as_utf8(text: str) -> str:
    """Return a header value as UTF-8 where its bytes, read as Latin-1 before, are UTF-8 in truth."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


@lru_cache(maxsize=64)
def date_of(text: str) -> float | None:
    """Return a date in seconds since the epoch. Cached: all answers of a second share one, and parsing takes 20 us."""
    try:
        when = parsedate_to_datetime(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
