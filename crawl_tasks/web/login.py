"""The login of operators: one password, a session cookie, a CSRF token in every form.

Without a password nobody can log in.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from crawl_tasks.errors import CrawlError

COOKIE = "crawl_session"
SESSION_S = 12 * 3600
WRONG_A_MINUTE = 10
"""Wrong passwords in a minute from all visitors together. Behind a proxy all have one address."""


class AttemptLimit(CrawlError):
    """Ten passwords of the last minute were wrong, so no further one is looked at."""


class Login:
    """The sessions of one process, which end with the process. Thread-safe."""

    def __init__(self, password: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._password = password.encode()
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._wrong: deque[float] = deque()
        self._ends: dict[str, float] = {}
        self._clock = clock

    @property
    def is_possible(self) -> bool:
        """Whether there is a password."""
        return bool(self._password)

    def enter(self, password: str, *, is_secure: bool = False) -> str | None:
        """Return the cookie of a new session for the right password, None for a wrong one.

        Raises:
            AttemptLimit: the password was not looked at.
        """
        with self._lock:
            now = self._clock()
            while self._wrong and now - self._wrong[0] >= 60:
                self._wrong.popleft()
            # Before the password is looked at, and at once: an answer says nothing by its time, nor by its absence.
            if len(self._wrong) >= WRONG_A_MINUTE:
                raise AttemptLimit(f"{WRONG_A_MINUTE} wrong passwords in a minute; try again in a minute")
            # compare_digest takes the same time for every wrong password, so that none can be guessed letter by letter.
            if not self._password or not hmac.compare_digest(password.encode("utf-8", "replace"), self._password):
                self._wrong.append(now)
                return None
            self._ends = {session: end for session, end in self._ends.items() if end > now}
            session = secrets.token_hex(32)
            self._ends[session] = now + SESSION_S
        return self._cookie(session, SESSION_S) + ("; Secure" if is_secure else "")

    def session(self, cookie_header: str) -> str | None:
        """Return the session in the cookies of a request, None without a valid one."""
        try:
            cookies = SimpleCookie(cookie_header)
        except CookieError:
            return None
        value = cookies[COOKIE].value if COOKIE in cookies else ""
        with self._lock:
            return value if self._ends.get(value, 0.0) > self._clock() else None

    def token(self, session: str) -> str:
        """Return the CSRF token of a session, which forms carry and other sites cannot know."""
        return hmac.new(self._key, f"form {session}".encode(), "sha256").hexdigest()

    def is_token(self, session: str, token: str) -> bool:
        """Return whether a form came from a page of ours."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token(session).encode())

    def leave(self, session: str) -> str:
        """End a session, and return the cookie that ends it in the browser."""
        with self._lock:
            self._ends.pop(session, None)
        return self._cookie("", 0)

    @staticmethod
    def _cookie(value: str, lasts_s: int) -> str:
        return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts_s}"
