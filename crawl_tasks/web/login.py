"""Who may act: one password, a signed cookie, a token in every form. Without a password nobody may."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from http.cookies import CookieError, SimpleCookie

COOKIE = "crawl_session"
SESSION_S = 12 * 3600
WRONG_COSTS_S = 1.0
"""Wrong passwords are answered one after another, each after this time."""


class Login:
    """Sessions of one process: signed with a key that dies with it."""

    def __init__(self, password: str, wrong_costs_s: float = WRONG_COSTS_S) -> None:
        self._password = password.encode()
        self._key = secrets.token_bytes(32)
        self._wrong = threading.Lock()
        self._wrong_costs_s = wrong_costs_s

    @property
    def is_possible(self) -> bool:
        """Say whether a password is set."""
        return bool(self._password)

    def enter(self, password: str) -> str | None:
        """Give the cookie for the right password, None for a wrong one."""
        if self._password and hmac.compare_digest(password.encode(), self._password):
            until = f"{time.time() + SESSION_S:.0f}.{secrets.token_hex(8)}"
            return f"{COOKIE}={until}.{self._sign(until)}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_S}"
        with self._wrong:
            time.sleep(self._wrong_costs_s)
        return None

    def session(self, cookie_header: str) -> str | None:
        """Give the session that a request's cookies prove, None when they prove none."""
        try:
            cookies = SimpleCookie(cookie_header)
        except CookieError:
            return None
        value = cookies[COOKIE].value if COOKIE in cookies else ""
        session, _, signature = value.rpartition(".")
        if not session or not hmac.compare_digest(signature.encode(), self._sign(session).encode()):
            return None
        return session if float(session.partition(".")[0]) > time.time() else None

    def token(self, session: str) -> str:
        """Give the token that the forms of a session carry: another site cannot know it."""
        return self._sign(f"form {session}")

    def is_token(self, session: str, token: str) -> bool:
        """Say whether a form came from our page."""
        return hmac.compare_digest(token.encode(), self.token(session).encode())

    def leave(self) -> str:
        """Give the cookie that ends a session in the browser."""
        return f"{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()
