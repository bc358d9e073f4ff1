"""The turn at a login: the reply to a worker that needs a session of a site."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class TurnState(IntEnum):
    """The state of a site's login, with the codes of begin_login.lua."""

    GRANTED = 0
    OPEN = 1
    BUSY = 2
    REFUSED = 3
    SPENT = 4


class SessionCheck(NamedTuple):
    """A look at the check page of a session that is due. It proves the pages up to the one with number `upto`."""

    upto: int


class LoginTurn(NamedTuple):
    """The reply to a worker. `token` is the fencing token of the login or of the open session.

    `sealed` is the open session, `wait_s` the time before another turn may come, in seconds.
    """

    state: TurnState
    token: str = ""
    sealed: bytes = b""
    wait_s: float = 0.0
    reason: str = ""
