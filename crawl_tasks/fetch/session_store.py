"""The store of sessions that processes share, as the fetcher sees it, and the one of one process."""

from __future__ import annotations

from typing import Final, Protocol

from crawl_tasks.model import LoginTurn, Request, SessionCheck, TurnState

REFUSED_REST_S: Final = 900.0
"""Seconds before the next login after a refused one. Forums lock an account after a few wrong passwords."""


class SessionStore(Protocol):
    """Sessions that processes share, and the turns at a login. See frontier/login_store.py."""

    def begin(self, site: str, caller: str, ended: str, *, fingerprint: str, most: int, lost_s: float) -> LoginTurn:
        """Return a turn to log in, or the open session."""
        ...

    def end(
        self, site: str, token: str, outcome: str, *, sealed: bytes = b"", reason: str = "", rest_s: float = 0
    ) -> bool:
        """End a login, and return whether its token still holds."""
        ...

    def note_pending(self, request: Request, session: str) -> SessionCheck | None:
        """Note a page that does not say who asked for it. Return the check that is due in its place, None for none."""
        ...

    def note_check(self, site: str, session: str, due: SessionCheck | None, *, is_member: bool) -> int:
        """Note what the check page of a session showed. Return the number of pages that are read again after it."""
        ...


class OwnSessions:
    """Sessions of one process, which looks at a page or two. A refused login is not tried again."""

    def __init__(self) -> None:
        self._refused: dict[str, str] = {}

    def begin(self, site: str, caller: str, ended: str, *, fingerprint: str, most: int, lost_s: float) -> LoginTurn:
        """Return a turn to log in."""
        if site in self._refused:
            return LoginTurn(TurnState.REFUSED, wait_s=REFUSED_REST_S, reason=self._refused[site])
        return LoginTurn(TurnState.GRANTED, caller)

    def end(
        self, site: str, token: str, outcome: str, *, sealed: bytes = b"", reason: str = "", rest_s: float = 0
    ) -> bool:
        """Remember a refusal."""
        if outcome == "refused":
            self._refused[site] = reason
        return True

    def note_pending(self, request: Request, session: str) -> SessionCheck | None:
        """Note nothing: a command looks at a page or two right after its login."""

    def note_check(self, site: str, session: str, due: SessionCheck | None, *, is_member: bool) -> int:
        """Return 0: nothing is noted."""
        return 0
