"""The sessions of sites behind a login, sealed, and the turns at a login: one at a time over all workers."""

from __future__ import annotations

from typing import cast

from crawl_tasks.frontier.entry import line_of
from crawl_tasks.frontier.replies import unpublished
from crawl_tasks.frontier.scripts import Scripts, Verb
from crawl_tasks.frontier.wire.entry_format import Flag
from crawl_tasks.model import LoginTurn, Request, SessionCheck, TurnState


class LoginStore:
    """The sessions on one Redis. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def begin(self, site: str, caller: str, ended: str, *, fingerprint: str, most: int, lost_s: float) -> LoginTurn:
        """Return a turn to log in, or the session that is open.

        Args:
            site: whose login it is.
            caller: a random word, by which a call that is sent twice begins one login.
            ended: the token of the session that the caller knows as ended, empty for none.
            fingerprint: of the credentials.
            most: logins in a day.
            lost_s: seconds after which a login that has not ended counts as lost.

        Raises:
            ConfigError: no such site is published.
        """
        reply = self._scripts.call(
            Verb.BEGIN_LOGIN, site, caller, ended or "0", fingerprint, most, round(lost_s * 1000)
        )
        code, *rest = reply
        if code == -1:
            raise unpublished(site)
        state = TurnState(cast("int", code))
        if state in (TurnState.GRANTED, TurnState.OPEN):
            token, *sealed = cast("list[bytes]", rest)
            return LoginTurn(state, token.decode(), b"".join(sealed))
        wait_ms, *reason = cast("tuple[int, bytes]", rest)
        return LoginTurn(state, wait_s=wait_ms / 1000, reason=b"".join(reason).decode())

    def note_pending(self, request: Request, session: str) -> SessionCheck | None:
        """Note a page that does not say who asked for it. Return the check that is due in its place, None for none.

        Raises:
            ConfigError: no such site is published.
        """
        code, *upto = self._scripts.call(Verb.NOTE_PENDING, request.site, session, line_of(request, Flag.AGAIN))
        if code == -1:
            raise unpublished(request.site)
        return SessionCheck(cast("int", upto[0])) if code == 1 else None

    def note_check(self, site: str, session: str, due: SessionCheck | None, *, is_member: bool) -> int:
        """Note what the check page of a session showed. Return the number of pages that are read again after it."""
        reply = self._scripts.call(Verb.NOTE_CHECK, site, session, int(is_member), due.upto if due else 0)
        return cast("int", reply[1]) if reply[0] == 0 else 0

    def end(
        self, site: str, token: str, outcome: str, *, sealed: bytes = b"", reason: str = "", rest_s: float = 0
    ) -> bool:
        """End a login as `opened`, `refused` or `failed`. Return whether the token still holds."""
        return self._scripts.call(Verb.END_LOGIN, site, token, outcome, sealed, reason, round(rest_s * 1000))[0] == 0
