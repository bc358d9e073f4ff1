"""Pages asked for as a member: what may be a guest's page is held against the check page, and then asked for again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from crawl_tasks.errors import Fate, GuestPage, NoTurn, PageError
from crawl_tasks.fetch.login_sessions import LoginPolicy, Send, Session, Sessions, Sign
from crawl_tasks.fetch.session_checks import SessionChecks
from crawl_tasks.model import Fetched, Request

log = logging.getLogger(__name__)

Answer = tuple[Fetched, PageError | None]
"""A page, and the error that its status means."""
Visit = Callable[[Session], Answer]

MOST_SESSIONS: Final = 3
"""Sessions that one attempt uses. A guest's page is never taken for a member's: a hidden thread would count as gone."""
LOOKS_AGAIN: Final = 2
"""Further requests for a page that may be a guest's, while the check page is a member's.

Of servers that answer in turn, the second look and the check page may be asked of the same one.
"""


class LoginFetch:
    """Asks for pages of sites behind a login. Thread-safe."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.checks = SessionChecks()

    def fetch(self, request: Request, login: LoginPolicy, visit: Visit, send: Callable[[Session], Send]) -> Fetched:
        """Fetch a page as a member. Renew the session if the page may be a guest's, and the check page is one.

        Raises:
            GuestPage: the page may be a guest's, and this session has shown guests' pages to a member before.
            FetchError: a subclass for each kind of failure.
        """
        session = self._sessions.session(request.site, login, send)
        try:
            for _ in range(MOST_SESSIONS):
                answer = visit(session)
                sign = login.signs(answer[0], request.stage)
                if sign is Sign.NONE and (now := self._sessions.current(request.site, login, session)) is not session:
                    session = now
                    continue
                holds = self._holds(request, login, session, sign, answer, send)
                if holds and sign is Sign.GUEST:
                    session = self._sessions.session(request.site, login, send)
                    answer, sign = self._looked_at_again(request, login, partial(visit, session), answer)
                    holds = sign is not Sign.NONE or self._holds(request, login, session, sign, answer, send)
                if holds:
                    return _member_page(answer, session, sign)
                session = self._sessions.renew(request.site, login, session, send)
            raise NoTurn(f"{MOST_SESSIONS} sessions ended within one attempt")
        except PageError as error:
            error.args = (session.hide(str(error)),)
            raise

    def _holds(
        self,
        request: Request,
        login: LoginPolicy,
        session: Session,
        sign: Sign,
        answer: Answer,
        send: Callable[[Session], Send],
    ) -> bool:
        """Return whether the check page shows a member, true where it is not to be asked for."""
        store, due = self._sessions.store, None
        if sign is Sign.NONE and answer[1] is None:
            due = store.note_pending(request, session.token)
        if sign is not Sign.GUEST and due is None and not (sign is Sign.NONE and self.checks.take_doubt(request.site)):
            return True
        if self._sessions.is_member(login, send(session)):
            if due is not None:
                store.note_check(request.site, session.token, due, is_member=True)
            return True
        # Nobody knows when it ended: the pages that no check proved are read again.
        if again := store.note_check(request.site, session.token, None, is_member=False):
            log.warning("a session ended unseen, its last pages are read again", extra={"pages": again})
        return False

    def _looked_at_again(
        self, request: Request, login: LoginPolicy, visit: Callable[[], Answer], answer: Answer
    ) -> tuple[Answer, Sign]:
        """Return a page that may be a guest's as it comes now, and as it came if it stays so, with what it says.

        Between the page and the check page another thread may have got a new cookie, or another server of the forum may
        have answered.
        """
        is_gone = answer[1] is not None and answer[1].fate is Fate.GONE
        has_looked = is_gone and self.checks.take_looks(request)
        for _ in range(0 if has_looked else LOOKS_AGAIN):
            again = visit()
            if (sign := login.signs(again[0], request.stage)) is not Sign.GUEST:
                # A server that fails in between shows neither.
                if again[1] is None:
                    self.checks.note_flap(request.site)
                return again, sign
        if self.checks.is_flapping(request.site):
            reason = str(answer[1] or f"{answer[0].url} may be a guest's page")
            raise GuestPage(f"{reason}; this session shows members' and guests' pages in turn")
        if is_gone and not has_looked:
            # It comes once more before it is believed.
            self.checks.note_looks(request)
        return answer, Sign.GUEST


def _member_page(answer: Answer, session: Session, sign: Sign) -> Fetched:
    page, error = answer
    if error is not None:
        error.is_behind_login = True
        raise error
    return page._replace(is_behind_login=True, secrets=session.hidden(), is_unsigned=sign is not Sign.MEMBER)
