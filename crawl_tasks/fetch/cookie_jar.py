"""The cookies of a site in one process (RFC 6265, by http.cookiejar): sent back to the origin that set them, only."""

from __future__ import annotations

import re
import threading
import time
import urllib.request
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

_EXPIRES = re.compile(r";\s*expires=([^;]+)", re.IGNORECASE)


class StoredCookie(NamedTuple):
    """A cookie as a session keeps it: `expires` in seconds since the epoch, None for one without end."""

    name: str
    value: str
    path: str
    secure: bool
    expires: int | None


class SiteCookies:
    """The cookies of one site, by origin. Thread-safe.

    A Domain attribute is ignored: no cookie leaves its origin, and no list of public suffixes is needed.
    """

    def __init__(self) -> None:
        self._jars: dict[str, CookieJar] = {}
        # http.cookiejar has a lock for changes, and none for going through a jar meanwhile.
        self._lock = threading.Lock()

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
        asked = urllib.request.Request(url)  # noqa: S310 (as above)
        with self._lock:
            jar = self._jars.setdefault(origin_of(url), CookieJar())
            jar.extract_cookies(answer, asked)  # type: ignore[arg-type]  # of an HTTPResponse it reads the headers
            for old in list(jar)[:-MOST_COOKIES]:
                jar.clear(old.domain, old.path, old.name)

    def of(self, origin: str) -> tuple[StoredCookie, ...]:
        """Return the cookies of an origin, to keep elsewhere."""
        with self._lock:
            found = list(self._jars.get(origin, ()))
        return tuple(StoredCookie(one.name, one.value or "", one.path, one.secure, one.expires) for one in found)

    def replace(self, origin: str, cookies: Iterable[StoredCookie]) -> None:
        """Put cookies in place of all that the origin has."""
        jar = CookieJar()
        host = host_of(origin)
        for one in cookies:
            # http.cookiejar writes a name without a dot so.
            domain = host if "." in host else f"{host}.local"
            jar.set_cookie(
                Cookie(
                    0, one.name, one.value, None, False, domain, False, False, one.path, True, one.secure, one.expires,
                    False, None, None, {},
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
    if until is None or re.search(r";\s*max-age=", line, re.IGNORECASE):
        return line
    there = date_of(headers.get("date", ""))
    return f"{line}; Max-Age={int(until - (now if there is None else there))}"


def read_cookie_file(path: str, host: str) -> tuple[StoredCookie, ...]:
    """Return the cookies for a host of a Netscape cookie file, as browsers export it.

    Raises:
        OSError: the file cannot be read, or is none.
    """
    found = []
    for number, line in enumerate(Path(path).read_text("utf-8", "replace").splitlines(), 1):
        line = line.removeprefix("#HttpOnly_")
        if not line or line.startswith("#"):
            continue
        # domain, whether for hosts below, path, whether for TLS only, end, name, value
        fields = line.split("\t")
        if len(fields) != 7 or not fields[4].isdecimal():
            raise OSError(f"{path}, line {number}: is no line of a Netscape cookie file")
        domain, _, where, secure, end, name, value = fields
        domain = domain.lstrip(".")
        expires = int(end) or None
        is_live = expires is None or expires > time.time()
        if is_live and (host == domain or host.endswith(f".{domain}")):
            found.append(StoredCookie(name, value, where, secure == "TRUE", expires))
    return tuple(found)
