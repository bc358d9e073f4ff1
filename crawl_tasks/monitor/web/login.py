"""The login of operators: one password, a signed session cookie, a CSRF token in every form.

Without a password nobody can log in.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from http.cookies import CookieError, SimpleCookie

COOKIE = "crawl_session"
SESSION_S = 12 * 3600
WRONG_COSTS_S = 1.0
"""Time that a wrong password costs, in seconds. Wrong passwords are answered one after another."""


class Login:
    """The sessions of one process, signed with a key that ends with the process."""

    def __init__(self, password: str, wrong_costs_s: float = WRONG_COSTS_S) -> None:
        self._password = password.encode()
        self._key = secrets.token_bytes(32)
        self._wrong = threading.Lock()
        self._wrong_costs_s = wrong_costs_s

    @property
    def is_possible(self) -> bool:
        """Return whether a password is set."""
        return bool(self._password)

    def enter(self, password: str) -> str | None:
        """Return a session cookie for the right password, None for a wrong one."""
        # compare_digest takes the same time for every wrong password, so that none can be guessed letter by letter.
        if self._password and hmac.compare_digest(password.encode(), self._password):
            until = f"{time.time() + SESSION_S:.0f}.{secrets.token_hex(8)}"
            return f"{COOKIE}={until}.{self._sign(until)}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_S}"
        # Under a lock: otherwise a thousand connections would guess a thousand passwords a second.
        with self._wrong:
            time.sleep(self._wrong_costs_s)
        return None

    def session(self, cookie_header: str) -> str | None:
        """Return the session in the cookies of a request, None without a valid one."""
        try:
            cookies = SimpleCookie(cookie_header)
        except CookieError:
            return None
        value = cookies[COOKIE].value if COOKIE in cookies else ""
        session, _, signature = value.rpartition(".")
        if not session or not hmac.compare_digest(signature.encode(), self._sign(session).encode()):
            return None
        # The signature is checked before, so the text is ours and has a number here.
        return session if float(session.partition(".")[0]) > time.time() else None

    def token(self, session: str) -> str:
        """Return the CSRF token of a session, which forms carry and other sites cannot know."""
        return self._sign(f"form {session}")

    def is_token(self, session: str, token: str) -> bool:
        """Return whether a form came from a page of ours."""
        return hmac.compare_digest(token.encode(), self.token(session).encode())

    def leave(self) -> str:
        """Return the cookie that ends the session in the browser."""
        return f"{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()
