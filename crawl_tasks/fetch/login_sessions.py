"""The sessions of sites behind a login: opened once for all workers, renewed when the forum shows a guest's pages.

A session is sealed before it leaves the process, by a key that Redis does not have. A login's requests are a page's
requests: they pass the guard, robots.txt and the throttle.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets as randomness
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import starmap
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from crawl_tasks.errors import ConfigError, Fate, LoginRefused, NoTurn, PageError
from crawl_tasks.fetch.bot_walls import bot_wall_in
from crawl_tasks.fetch.cookie_jar import SiteCookies, StoredCookie
from crawl_tasks.fetch.redaction import LEAST_PASSWORD, LEAST_SECRET, is_secret, spellings, without
from crawl_tasks.fetch.session_store import REFUSED_REST_S, OwnSessions, SessionStore
from crawl_tasks.model import Fetched, HttpRequest, LoginTurn, Stage, TurnState
from crawl_tasks.urls import origin_of

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

Send = Callable[[HttpRequest], Fetched]
"""Sends a request of a login, with the cookies so far, and follows redirects."""

BUSY_WAIT_S: Final = 5.0
_BY_BROWSER: Final = "stands in its form: log in with a browser, and take its cookies by login.cookie_file"


class Sign(Enum):
    """What a page says of who asked for it: it is a member's, may be a guest's, or says nothing."""

    MEMBER = "member"
    GUEST = "guest"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class LoginPolicy:
    """The login of one site version.

    `log_in` sends what is needed and returns the headers of a member. `cookies` are those that a file gives. `check` is
    the request for the page that shows whether we are a member, by `is_member`. `signs` tells what a page of a stage
    says of that itself. `secrets` reads the secrets anew at each login, and
    `not_secret` names cookies that are none. `name` identifies site and login. A worker's
    login counts as lost after `lost_after_s`.
    """

    name: str
    origin: str
    log_in: Callable[[Send], Mapping[str, str]]
    cookies: Callable[[], tuple[StoredCookie, ...]]
    check: HttpRequest
    is_member: Callable[[Fetched], bool]
    signs: Callable[[Fetched, Stage], Sign]
    secrets: Callable[[], tuple[str, ...]]
    most_a_day: int
    not_secret: frozenset[str] = frozenset()
    lost_after_s: float = 120.0


@dataclass(slots=True)
class Session:
    """The state of a visitor: cookies, and a member's headers. `token` is empty for a guest's.

    The site file says of the cookies named in `not_secret` that their values may be shown.
    """

    cookies: SiteCookies = field(default_factory=SiteCookies)
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    origin: str = ""
    not_secret: frozenset[str] = frozenset()

    def headers_with(self, http: HttpRequest) -> dict[str, str]:
        """Return the headers of a request, with the session's own: cookies by origin, others to the site's only."""
        own = self.headers if origin_of(http.url) == self.origin else {}
        replaced = {name.lower() for name in own} | {"cookie"}
        headers = {name: value for name, value in http.headers.items() if name.lower() not in replaced} | dict(own)
        given = (value for name, value in http.headers.items() if name.lower() == "cookie")
        if cookies := "; ".join(filter(None, (*given, self.cookies.header(http.url)))):
            headers["Cookie"] = cookies
        return headers

    def hidden(self) -> dict[str, str]:
        """Return the texts that must not be kept, logged or shown, each with what it is.

        They are passwords, tokens, and cookies that are secrets.
        """
        cookies = (cookie for cookie in self.cookies.of(self.origin) if cookie.name not in self.not_secret)
        values = [(cookie.value, f"cookie {cookie.name}") for cookie in cookies if is_secret(cookie)]
        values += [(value.removeprefix("Bearer "), f"header {name}") for name, value in self.headers.items()]
        secrets = [(secret, "password") for secret in self.secrets if len(secret) >= LEAST_PASSWORD]
        secrets += [(value, name) for value, name in values if len(unquote(value)) >= LEAST_SECRET]
        return {text: name for secret, name in secrets for text in spellings(secret)}

    def hide(self, text: str) -> str:
        """Return a text without the secrets of the session."""
        return without(text, self.hidden())


class _Entry:
    """The requests of a login. `was_member` tells whether an answer was a member's page, as after a right password.

    `captcha` names the captcha that an answer showed.
    """

    def __init__(self, send: Send, is_member: Callable[[Fetched], bool]) -> None:
        self._send, self._is_member = send, is_member
        self.was_member = False
        self.captcha: str | None = None

    def send(self, http: HttpRequest) -> Fetched:
        page = self._send(http)
        self.was_member = self.was_member or self._is_member(page)
        self.captcha = bot_wall_in(page.headers, page.body) or self.captcha
        return page


class Sessions:
    """The sessions of a process. Thread-safe: a session is replaced as a whole."""

    def __init__(self, store: SessionStore | None, key: str) -> None:
        """Make the sessions.

        Args:
            store: shared by all processes (none if left out).
            key: seals the sessions.
        """
        self.store: SessionStore = store or OwnSessions()
        self._key = key if store else randomness.token_hex()
        self._open: dict[str, tuple[str, Session]] = {}
        self._ended_at_once: set[str] = set()

    def session(self, site: str, login: LoginPolicy, send: Callable[[Session], Send]) -> Session:
        """Return the session of a site, opened now if there is none.

        Raises:
            LoginRefused: the forum does not take the login, no login is left today, or this process lacks a secret.
            NoTurn: another worker logs in now.
            PageError: a page of the login could not be fetched.
        """
        known = self._open.get(site)
        return known[1] if known and known[0] == login.name else self._opened(site, login, "", send)

    def current(self, site: str, login: LoginPolicy, session: Session) -> Session:
        """Return the session that is open now in this process, the given one if that is all there is."""
        name, now = self._open.get(site, ("", session))
        return now if name == login.name else session

    def renew(self, site: str, login: LoginPolicy, ended: Session, send: Callable[[Session], Send]) -> Session:
        """Return a session in place of one that has ended. Raises what `session` raises."""
        known = self._open.get(site)
        if known is not None and known[0] == login.name and known[1].token != ended.token:
            return known[1]
        return self._opened(site, login, ended.token, send)

    def is_member(self, login: LoginPolicy, send: Send) -> bool:
        """Return whether the forum shows a member's page. Raises the errors of a page that may be fetched later."""
        try:
            return login.is_member(send(login.check))
        except PageError as error:
            if error.fate is Fate.RETRY:
                raise
            return False

    def _opened(self, site: str, login: LoginPolicy, ended: str, send: Callable[[Session], Send]) -> Session:
        try:
            self._seal()
            secrets = login.secrets()
        except ConfigError as error:
            # Another worker may have what this process lacks: the page waits for it.
            raise LoginRefused(str(error)) from None
        fingerprint = self._fingerprint(login, secrets)
        while True:
            turn = self.store.begin(
                site,
                randomness.token_hex(8),
                ended,
                fingerprint=fingerprint,
                most=login.most_a_day,
                lost_s=login.lost_after_s,
            )
            if turn.state is not TurnState.OPEN:
                break
            session = self._unsealed(turn, login, secrets)
            if session is not None:
                return self._kept(site, login, session)
            # Sealed by another key: as good as ended.
            ended = turn.token
        if turn.state is TurnState.BUSY:
            busy = NoTurn("another worker logs in now")
            busy.retry_after_s = min(turn.wait_s, BUSY_WAIT_S)
            raise busy
        if turn.state is not TurnState.GRANTED:
            spent = f"all {login.most_a_day} logins of today are used up"
            reason = turn.reason if turn.state is TurnState.REFUSED else spent
            raise LoginRefused(f"{reason}; the next login may come in {turn.wait_s:.0f} s")
        return self._logged_in(site, login, turn, secrets, send)

    def _logged_in(
        self, site: str, login: LoginPolicy, turn: LoginTurn, secrets: tuple[str, ...], send: Callable[[Session], Send]
    ) -> Session:
        session = Session(token=turn.token, secrets=secrets, origin=login.origin, not_secret=login.not_secret)
        outcome, sealed, reason = "failed", b"", ""
        try:
            session.cookies.replace(login.origin, login.cookies())
            if self.is_member(login, send(Session(origin=login.origin))):
                raise LoginRefused(f"guests see the sign of success too: {login.check.url}; choose another `success`")
            entry = _Entry(send(session), login.is_member)
            session.headers = login.log_in(entry.send)
            if not login.is_member(send(session)(login.check)):
                # Twice in a row it is the check page that lacks the sign.
                if entry.was_member and login.name not in self._ended_at_once:
                    self._ended_at_once.add(login.name)
                    raise NoTurn("the session ended right after its login")
                texts = [f"the login gave a page without the sign of success: {login.check.url}"]
                texts += filter(None, [session.cookies.dropped, entry.captcha and f"{entry.captcha} {_BY_BROWSER}"])
                raise LoginRefused("; ".join(texts))
            outcome, sealed = "opened", self._sealed(login, session)
            self._ended_at_once.discard(login.name)
        except PageError as error:
            error.args = (session.hide(str(error)),)
            if error.fate is Fate.RETRY and not isinstance(error, LoginRefused):
                raise
            outcome, reason = "refused", " ".join(str(error).split())[:300]
            raise LoginRefused(reason) from None
        finally:
            holds = self.store.end(site, turn.token, outcome, sealed=sealed, reason=reason, rest_s=REFUSED_REST_S)
        if not holds:
            raise NoTurn("the login took so long that another worker began one")
        return self._kept(site, login, session)

    def _kept(self, site: str, login: LoginPolicy, session: Session) -> Session:
        self._open[site] = (login.name, session)
        return session

    def _fingerprint(self, login: LoginPolicy, secrets: tuple[str, ...]) -> str:
        """Return what changes with the login or a secret. Without the key nobody can try passwords on it."""
        text = "\0".join((login.name, *secrets)).encode()
        return hmac.new(self._key.encode(), text, hashlib.sha256).hexdigest()[:32]

    def _sealed(self, login: LoginPolicy, session: Session) -> bytes:
        fields = {
            "login": login.name,
            "headers": dict(session.headers),
            "cookies": session.cookies.of(login.origin),
        }
        return self._seal().encrypt(json.dumps(fields).encode())

    def _unsealed(self, turn: LoginTurn, login: LoginPolicy, secrets: tuple[str, ...]) -> Session | None:
        """Return the session of another process, None for one that was sealed by another key or for another site."""
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 (only for sites behind a login)

        try:
            kept = json.loads(self._seal().decrypt(turn.sealed))
        except InvalidToken:
            return None
        if kept["login"] != login.name:
            return None
        session = Session(
            token=turn.token, headers=kept["headers"], secrets=secrets, origin=login.origin, not_secret=login.not_secret
        )
        session.cookies.replace(login.origin, starmap(StoredCookie, kept["cookies"]))
        return session

    def _seal(self) -> Fernet:
        if len(self._key) < LEAST_KEY:
            raise ConfigError(
                f"a site has a login: set CRAWL_SESSION_KEY to {LEAST_KEY} random characters or more in all processes"
                " that fetch, as from `openssl rand -hex 32`"
            )
        try:
            from cryptography.fernet import Fernet  # noqa: PLC0415 (as above)
        except ImportError:
            raise ConfigError("a site has a login: pip install 'crawl-tasks[login]'") from None
        return Fernet(base64.urlsafe_b64encode(hashlib.sha256(self._key.encode()).digest()))


LEAST_KEY: Final = 32
"""Characters of the key that seals sessions."""
