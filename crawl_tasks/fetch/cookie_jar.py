"""The cookies of a site in one process (RFC 6265, by http.cookiejar): sent back to the origin that set them, only."""

from __future__ import annotations

import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from email.message import Message
from http.cookiejar import Cookie, CookieJar
from pathlib import Path
from typing import Final, NamedTuple

from crawl_tasks.fetch.http_status import date_of
from crawl_tasks.urls import host_of, origin_of

# RFC 6265, 6.1: at least 50 cookies for each domain, of at least 4,096 bytes each. No forum needs more.
MOST_COOKIES: Final = 50
MOST_BYTES: Final = 4_096

MOST_AGE_S: Final = 100 * 366 * 86_400
MOST_END: Final = 253_402_300_799
"""A lifetime, and the end of the year 9999, in seconds. Servers write ends that no number holds."""

_HTTP_ONLY = "#HttpOnly_"
_END = re.compile(r"-1|\d+(?:\.\d+)?")
_MAX_AGE = re.compile(r";\s*max-age=([^;]*)", re.IGNORECASE)
_EXPIRES = re.compile(r";\s*expires=([^;]+)", re.IGNORECASE)


class StoredCookie(NamedTuple):
    """A cookie as a session keeps it: `expires` in seconds since the epoch, None for one without end.

    `is_http_only` cookies are none of the page's scripts' business.
    """

    name: str
    value: str
    path: str
    secure: bool
    expires: int | None
    is_http_only: bool = False


class SiteCookies:
    """The cookies of one site, by origin. Thread-safe.

    A Domain attribute is ignored: no cookie leaves its origin, and no list of public suffixes is needed.
    """

    def __init__(self) -> None:
        self._jars: dict[str, CookieJar] = {}
        # http.cookiejar has a lock for changes, and none for going through a jar meanwhile.
        self._lock = threading.Lock()
        self.dropped = ""
        """Why the last cookie that was not taken was not."""

    def header(self, url: str) -> str:
        """Return the Cookie header of a request, empty without cookies."""
        jar = self._jars.get(origin_of(url))
        if jar is None:
            return ""
        asked = urllib.request.Request(url)  # noqa: S310 (never opened: http.cookiejar reads the address there)
        with self._lock:
            jar.add_cookie_header(asked)
        return asked.get_header("Cookie") or ""

    def learn(self, url: str, headers: Mapping[str, str], now: float) -> None:
        """Take the cookies of an answer."""
        lines = headers.get("set-cookie")
        if lines is None:
            return
        answer = _Answer()
        for line in lines.split("\n")[:MOST_COOKIES]:
            if len(line) <= MOST_BYTES:
                answer.head["Set-Cookie"] = _of_here(line, headers, now)
            else:
                self.dropped = f"cookie {line.partition('=')[0][:40]} has more than {MOST_BYTES} bytes"
        asked = urllib.request.Request(url)  # noqa: S310 (as above)
        with self._lock:
            jar = self._jars.setdefault(origin_of(url), CookieJar())
            jar.extract_cookies(answer, asked)  # type: ignore[arg-type]  # of an HTTPResponse it reads the headers
            for old in list(jar)[:-MOST_COOKIES]:
                jar.clear(old.domain, old.path, old.name)

    def of(self, origin: str) -> tuple[StoredCookie, ...]:
        """Return the cookies of an origin, to keep elsewhere."""
        with self._lock:
            cookies = list(self._jars.get(origin, ()))
        return tuple(
            StoredCookie(
                cookie.name, cookie.value or "", cookie.path, cookie.secure, cookie.expires,
                cookie.has_nonstandard_attr("HttpOnly"),
            )
            for cookie in cookies
        )  # fmt: skip

    def replace(self, origin: str, cookies: Iterable[StoredCookie]) -> None:
        """Put cookies in place of all that the origin has."""
        jar = CookieJar()
        host = host_of(origin)
        for cookie in cookies:
            # http.cookiejar writes a name without a dot so.
            domain = host if "." in host else f"{host}.local"
            jar.set_cookie(
                Cookie(
                    0, cookie.name, cookie.value, None, False, domain, False, False, cookie.path, True,
                    cookie.secure, cookie.expires, False, None, None, {"HttpOnly": ""} if cookie.is_http_only else {},
                )
            )  # fmt: skip
        self._jars[origin] = jar


class _Answer:
    """An answer as http.cookiejar reads one."""

    def __init__(self) -> None:
        self.head = Message()

    def info(self) -> Message:
        return self.head


def _of_here(line: str, headers: Mapping[str, str], now: float) -> str:
    """Return a cookie without its domain, and with its end by our clock: the clocks of both sides may differ."""
    line = re.sub(r";\s*domain=[^;]*", "", line, flags=re.IGNORECASE)
    ends = _EXPIRES.search(line)
    until = date_of(ends[1]) if ends else None
    line = _MAX_AGE.sub(_near, line)
    if until is None or _MAX_AGE.search(line):
        return line
    server_now = date_of(headers.get("date", ""))
    return f"{line}; Max-Age={int(until - (now if server_now is None else server_now))}"


def _near(age: re.Match[str]) -> str:
    """Return a Max-Age within a lifetime, and none that is no number: a jar drops the cookie then, and RFC 6265 not."""
    seconds = age[1].strip()
    if not re.fullmatch(r"-?\d+", seconds):
        return ""
    return f"; Max-Age={-1 if seconds.startswith('-') else min(int(seconds[:12]), MOST_AGE_S)}"


def _unfit(cookie: StoredCookie, domain: str, host: str) -> str:
    """Return why a host does not get a cookie of a domain now, empty where it does."""
    if host != domain and not host.endswith(f".{domain}"):
        return "for other hosts"
    if cookie.expires is not None and cookie.expires <= time.time():
        return "expired"
    return f"over {MOST_BYTES} bytes" if len(cookie.name) + len(cookie.value) > MOST_BYTES else ""


def read_cookie_file(path: str, host: str) -> tuple[StoredCookie, ...]:
    """Return the cookies for a host of a Netscape cookie file, as browsers and their add-ons export it.

    Raises:
        OSError: the file cannot be read, is none, or has no cookie that this host gets now.
    """
    text = Path(path).read_text("utf-8", "replace")
    if text.lstrip()[:1] in ("[", "{"):
        raise OSError(f"{path}: is JSON; export the cookies as a Netscape cookie file (cookies.txt)")
    cookies, left_out = [], Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        content = line.removeprefix(_HTTP_ONLY)
        if not content or content.startswith("#"):
            continue
        # domain, whether for hosts below, path, whether for TLS only, end, name, value
        fields = content.split("\t")
        if len(fields) != 7 or not _END.fullmatch(fields[4]):
            raise OSError(f"{path}, line {number}: is no line of a Netscape cookie file")
        domain, _, where, secure, end, name, value = fields
        # Add-ons write ends with decimals, and -1 for a cookie of the browser's session.
        expires = int(max(min(float(end), MOST_END), 0)) or None
        cookie = StoredCookie(name, value, where, secure == "TRUE", expires, line.startswith(_HTTP_ONLY))
        if reason := _unfit(cookie, domain.lstrip("."), host):
            left_out[reason] += 1
        else:
            cookies.append(cookie)
    if not cookies:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "it is empty"
        raise OSError(f"{path}: has no cookie for {host}: {reasons}; export it anew while you are logged in there")
    return tuple(cookies)
